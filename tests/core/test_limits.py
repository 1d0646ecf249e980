"""What is too much is refused in words, and a deployment's settings leave no warning."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.imports import tables
from annotation.imports.reading import Source
from core.errors import UserError
from core.models import User

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.django_db
def test_a_form_that_is_too_large_is_refused_in_words(client: Client, ana: User, settings: Any) -> None:
    client.force_login(ana)
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 2048
    answer = client.post(reverse("token_new"), {"name": "x" * 5000})
    assert answer.status_code == 413
    assert "at most 2 kB" in answer.content.decode()
    settings.DATA_UPLOAD_MAX_NUMBER_FIELDS = 10
    assert client.post(reverse("token_new"), {f"a{number}": 1 for number in range(20)}).status_code == 413


def test_a_parquet_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "bomb.parquet"
    pq.write_table(pa.table({"text": ["x" * 10_000] * 500}), path, compression="gzip", use_dictionary=False)
    assert path.stat().st_size < 100_000
    monkeypatch.setattr(tables, "MAX_UNPACKED", 1 << 20)
    with Source(path) as source, pytest.raises(UserError, match="unpacks to 4 MB, more than 1 MB"):
        list(tables.parquet_rows(source))


def test_gzip_is_not_unpacked_at_all(tmp_path: Path) -> None:
    import gzip

    path = tmp_path / "bomb.jsonl"
    path.write_bytes(gzip.compress(b"0" * 1_000_000))
    with Source(path) as source, pytest.raises(UserError, match="unpack it first"):
        list(source.rows())


def test_the_settings_of_a_deployment_leave_no_warning(tmp_path: Path) -> None:
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    told = subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=ROOT,
        env={
            **kept,
            "DATABASE_URL": "postgres://somebody@127.0.0.1:1/none",
            "REDIS_URL": "redis://127.0.0.1:1/0",
            "FALSESTEP_HOME": str(tmp_path),
            "FALSESTEP_SECRET_KEY": "".join(chr(33 + number % 90) for number in range(60)),
            "FALSESTEP_SITE_URL": "https://falsestep.example",
            "FALSESTEP_ALLOWED_HOSTS": "falsestep.example",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    assert "no issues" in told.stdout
