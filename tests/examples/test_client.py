"""examples/client.py does what it says, against a site that runs."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from annotation.models import Role
from core.tokens import issue_token
from core.webhooks import signature
from monitoring.engine import waking
from monitoring.models import Batch, Monitor
from tests.adjudication.build import make_dispute, make_standard
from tests.build import make_person, make_study

CLIENT = Path(__file__).resolve().parents[2] / "examples" / "client.py"


def _run(site: str, token: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    told = {"FALSESTEP_SITE": site, "FALSESTEP_TOKEN": token, "FALSESTEP_STUDY": "optics"}
    return subprocess.run(
        [sys.executable, "-I", str(CLIENT), *arguments],
        env={"PATH": os.environ["PATH"], "FALSESTEP_EVERY": "0.05", **told},
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.django_db(transaction=True)
def test_it_launches_a_batch_and_waits_for_its_end(live_server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_study(slug="optics")
    olga = make_person("olga", study=study, roles=[Role.ADMINISTRATOR])
    make_dispute(study)
    make_standard(study, allow_open=True)
    Monitor.objects.create(study=study, slug="always", provider="always")

    def finish(batch_id: int, *, drivers: int = 1) -> None:
        Batch.objects.filter(pk=batch_id).update(status=Batch.Status.FINISHED)

    monkeypatch.setattr(waking, "send", finish)
    key = issue_token(person=olga, scopes=["read", "operate"]).key
    done = _run(live_server.url, key, "always", "BLIND")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["batch 1 launched", "batch 1 finished", "batches so far: 1"]
    refused = _run(live_server.url, key, "nobody", "BLIND")
    assert refused.returncode == 1
    assert refused.stderr.startswith("422 refused: ")


def test_it_knows_a_genuine_message() -> None:
    is_genuine = runpy.run_path(str(CLIENT))["is_genuine"]
    body, now = json.dumps({"ids": {}}).encode(), int(time.time())
    assert is_genuine(body, signature("secret", now, body), "secret")
    for other in (
        (body + b" ", signature("secret", now, body), "secret"),
        (body, signature("other", now, body), "secret"),
        (body, signature("secret", now - 301, body), "secret"),
        (body, "", "secret"),
        (body, "t=x,v1", "secret"),
    ):
        assert not is_genuine(*other)
