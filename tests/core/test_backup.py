"""A backup restored into an empty database is the same to the hash; a changed one is refused."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from adjudication.models import ReferenceStandard
from core.models import AuditChain
from tests.adjudication.build import make_dispute, make_standard
from tests.build import make_study

pytestmark = pytest.mark.django_db(transaction=True)
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of a site with an empty database."""
    home = {"FALSESTEP_HOME": str(tmp_path / "elsewhere"), "FALSESTEP_SECRET_KEY": "x"}
    if connection.vendor != "postgresql":
        yield {**home, "DATABASE_URL": ""}
        return
    told = connection.settings_dict
    name = f"restore_{secrets.token_hex(6)}"
    where = {"host": told["HOST"], "port": told["PORT"], "user": told["USER"], "password": told["PASSWORD"]}
    with psycopg.connect(dbname="postgres", autocommit=True, **where) as admin:
        admin.execute(f'CREATE DATABASE "{name}"')
        yield {
            **home,
            "DATABASE_URL": f"postgres://{where['user']}:{where['password']}@{where['host']}:{where['port']}/{name}",
        }
        admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def _restore(env: dict[str, str], folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", "restore", str(folder), *more],
        cwd=ROOT,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_what_is_restored_has_the_same_hashes_and_a_second_time_is_refused(
    tmp_path: Path, empty: dict[str, str], settings: Any
) -> None:
    settings.HOME = tmp_path / "home"
    settings.HOME.mkdir()
    (settings.HOME / "secret_key").write_text("signs sessions", encoding="ascii")
    (settings.HOME / "worker.log").touch()
    study = make_study(slug="optics")
    make_dispute(study)
    make_standard(study, allow_open=True)
    folder = tmp_path / "backup"
    call_command("backup", str(folder))
    assert folder.stat().st_mode & 0o077 == 0
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["standards"] == [["optics", 1, ReferenceStandard.objects.get().sha256]]
    heads = list(AuditChain.objects.order_by("scope").values_list("scope", "length", "head"))
    assert [tuple(row) for row in manifest["audit_heads"]] == heads != []
    assert "files/secret_key" in manifest["files"] and "files/worker.log" not in manifest["files"]
    done = _restore(empty, folder)
    assert done.returncode == 0, done.stderr
    assert "1 audit chain and 1 standard as they were" in done.stdout
    home = Path(empty["FALSESTEP_HOME"])
    assert (home / "secret_key").read_text(encoding="ascii") == "signs sessions"
    again = _restore(empty, folder)
    assert again.returncode == 1
    assert "error: the database is not empty" in again.stderr
    with pytest.raises(CommandError, match="not empty"):
        call_command("backup", str(folder))


def test_a_backup_that_was_changed_is_refused_before_anything_is_restored(
    tmp_path: Path, settings: Any
) -> None:
    settings.HOME = tmp_path / "home"
    settings.HOME.mkdir()
    folder = tmp_path / "backup"
    call_command("backup", str(folder))
    call_command("restore", str(folder), "--check")
    (folder / "added").touch()
    with pytest.raises(CommandError, match="added is missing, added or was changed"):
        call_command("restore", str(folder), "--check")
    (folder / "added").unlink()
    dump = next(folder.glob("database.*"))
    dump.write_bytes(dump.read_bytes()[:-1] + b"x")
    with pytest.raises(CommandError, match=r"database\.\w+ is missing, added or was changed"):
        call_command("restore", str(folder))
    with pytest.raises(CommandError, match="is no backup"):
        call_command("restore", str(tmp_path), "--check")
