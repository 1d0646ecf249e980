"""/metrics: for Prometheus alone, and what it says is so."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from annotation.models import Study
from monitoring.engine import heartbeat
from monitoring.models import Call
from tests.adjudication.build import make_standard
from tests.annotation.build import make_traces
from tests.monitoring.build import make_batch, make_scripted

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("token", "networks", "headers", "status"),
    [
        ("", [], {}, 404),
        ("t", [], {}, 404),
        ("t", [], {"Authorization": "Bearer wrong"}, 404),
        ("", [], {"Authorization": "Bearer "}, 404),
        ("t", [], {"Authorization": "Bearer t"}, 200),
        ("", ["127.0.0.0/8"], {}, 200),
        ("", ["10.0.0.0/8", "::1"], {}, 404),
        ("", ["127.0.0.0/8"], {"X-Forwarded-For": "127.0.0.1"}, 404),
        ("", ["127.0.0.0/8"], {"Via": "1.1 proxy"}, 404),
    ],
)
def test_only_the_token_or_an_address_of_ours_opens_it(
    client: Client, settings: Any, token: str, networks: list[str], headers: dict[str, str], status: int
) -> None:
    settings.METRICS_TOKEN, settings.METRICS_NETWORKS = token, networks
    answer = client.get("/metrics", headers=headers)
    assert answer.status_code == status
    assert (b"falsestep_batches" in answer.content) == (status == 200)


def _values(client: Client) -> dict[str, float]:
    text = client.get("/metrics", headers={"Authorization": "Bearer t"}).content.decode()
    return {name: float(value) for name, value in re.findall(r"^(falsestep_\S+) (\S+)$", text, re.MULTILINE)}


def test_it_tells_of_requests_batches_calls_and_workers(client: Client, study: Study, settings: Any) -> None:
    settings.METRICS_TOKEN = "t"
    name = 'falsestep_request_seconds_count{method="GET",route="accounts/login/",status="2xx"}'
    before = _values(client).get(name, 0.0)
    client.get("/accounts/login/")
    client.get("/studies/no-such-study-has-this-name/")
    make_traces(study, 3)
    make_batch(make_standard(study), [make_scripted(study)])
    heartbeat.beat()
    found = _values(client)
    assert found[name] == before + 1
    assert found['falsestep_batches{status="running"}'] == 1
    assert found['falsestep_calls{status="pending"}'] == Call.objects.filter(status="pending").count() > 0
    assert found['falsestep_verdicts{outcome="ok"}'] == 0
    assert found["falsestep_workers"] == 1
    assert found["falsestep_worker_silence_seconds"] < 60
    assert found["falsestep_webhook_messages_waiting"] == 0
    assert "no-such-study" not in str(found)


def test_several_processes_are_added_up(tmp_path: Path) -> None:
    """Each process writes its own file; the one that is asked reads them all."""
    program = (
        "import os\n"
        "from django.conf import settings\nsettings.configure()\n"
        "from core import metrics\n"
        "def seen(): metrics.observe(method='GET', route='r', status=200, seconds=0.02)\n"
        "child = os.fork()\n"
        "seen()\n"
        "if child == 0: os._exit(0)\n"
        "os.waitpid(child, 0)\n"
        "print(metrics.text().decode())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).resolve().parents[2],
        env={**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert 'falsestep_request_seconds_count{method="GET",route="r",status="2xx"} 2.0' in done.stdout
