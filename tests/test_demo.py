"""The demo is the main job, end to end: real database, real broker, real worker, also when workers are killed."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.conftest import ROOT
from tests.monitoring.installation import Installation, wait_until

VERDICTS = """
SELECT monitor.slug, run.condition, question.external_id, trace.response_label,
       verdict.outcome, verdict.has_error, verdict.first_error_step, verdict.error_confidence, verdict.reason
FROM monitoring_verdict AS verdict
JOIN monitoring_run AS run ON run.id = verdict.run_id
JOIN monitoring_monitor AS monitor ON monitor.id = run.monitor_id
JOIN annotation_trace AS trace ON trace.id = verdict.trace_id
JOIN annotation_question AS question ON question.id = trace.question_id
ORDER BY 1, 2, 3, 4
"""


class Site:
    """A place for one demo: an own home, and an own database where the suite runs on PostgreSQL.

    `migrated` is a database to begin with a copy of (see the fixture); without it the demo makes its own.
    """

    def __init__(self, home: Path, *, migrated: str = "") -> None:
        self.env = {**os.environ, "FALSESTEP_HOME": str(home), "SERVE": "0", "PYTHONUNBUFFERED": "1"}
        self.env.pop("DJANGO_SETTINGS_MODULE", None)
        self.database = ""
        if os.environ.get("DATABASE_URL"):
            base, _, _ = os.environ["DATABASE_URL"].rpartition("/")
            self.database = f"falsestep_demo_{uuid.uuid4().hex[:10]}"
            self.admin = f"{base}/postgres"
            self.sql(f"CREATE DATABASE {self.database} TEMPLATE {migrated or 'template1'}")
            self.env["DATABASE_URL"] = f"{base}/{self.database}"
        elif migrated:
            shutil.copy(migrated, home / "falsestep.sqlite3")

    def sql(self, statement: str) -> None:
        with psycopg.connect(self.admin, autocommit=True) as connection:
            connection.execute(statement.encode())

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query, asked from outside; none while the tables are not there yet."""
        home = Path(self.env["FALSESTEP_HOME"])
        if not self.database and not (home / "falsestep.sqlite3").exists():
            return []
        seen = Installation(home, self.env, self.env["DATABASE_URL"] if self.database else "")
        try:
            return seen.rows(query)
        except (sqlite3.OperationalError, psycopg.errors.UndefinedTable):
            return []

    def close(self) -> None:
        if self.database:
            self.sql(f"DROP DATABASE {self.database} WITH (FORCE)")

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *arguments: str) -> str:
        process = self.start(*arguments)
        output, _ = process.communicate(timeout=180)
        assert process.returncode == 0, output
        return output

    def verdicts(self) -> list[tuple[Any, ...]]:
        return self.rows(VERDICTS)


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, str]]:
    """A demo that nothing disturbed, with what it printed."""
    site = Site(tmp_path_factory.mktemp("quiet"))
    yield site, site.run("demo", "--resamples", "200")
    site.close()


def test_it_says_what_it_did_and_where_things_lie(quiet: tuple[Site, str]) -> None:
    site, output = quiet
    home = Path(site.env["FALSESTEP_HOME"])
    for words in (
        "Standard 1: sha256",
        "Batch 1 is finished",
        "etection",
        "ocalisation",
        "Sign in as one of",
    ):
        assert words in output
    assert re.search(r"\[\d\.\d+, \d\.\d+\]", output), "tables show intervals"
    report = json.loads((home / "demo" / "report.json").read_text(encoding="utf-8"))
    assert set(report["detection"]) == {"BLIND", "HINT", "CERT"}
    assert list((home / "demo" / "csv").glob("*.csv"))
    assert list((home / "demo" / "figures").iterdir())
    assert (home / "demo" / "tables.tex").stat().st_size > 0


def test_the_oracle_has_the_paper_s_baseline_shape(quiet: tuple[Site, str]) -> None:
    site, _ = quiet
    home = Path(site.env["FALSESTEP_HOME"])
    report = json.loads((home / "demo" / "report.json").read_text(encoding="utf-8"))
    reference, oracle = report["reference"], report["detection"]["CERT"]["monitors"]["oracle"]
    errors = reference["wrong"] + reference["critical"]
    assert oracle["sensitivity"] == pytest.approx(reference["wrong"] / errors)
    assert oracle["specificity"] == 1.0


def test_killing_the_worker_twice_changes_no_verdict(
    quiet: tuple[Site, str], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    # Asked for only now: the first demo need not wait until the suite's own database is migrated.
    site = Site(tmp_path, migrated=request.getfixturevalue("migrated"))
    try:
        process = site.start("demo", "--resamples", "200")
        killed: list[int] = []
        done = 0

        def kill_a_worker() -> bool:
            # One that holds calls, once something was written: so that it dies in the middle of its work.
            holders = site.rows(
                "SELECT DISTINCT lease_owner FROM monitoring_call WHERE status = 'running' "
                f"AND (SELECT count(*) FROM monitoring_verdict) > {done}"
            )
            for pid in {int(owner.split(":")[1]) for (owner,) in holders} - set(killed):
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
                return True
            return False

        for _ in range(2):
            wait_until(kill_a_worker, within=120, why="no worker is at work")
            [(done, total)] = site.rows(
                "SELECT (SELECT count(*) FROM monitoring_verdict), (SELECT count(*) FROM monitoring_call)"
            )
            assert done < total, "the batch ended before the worker was killed"
        output, _ = process.communicate(timeout=180)
        assert process.returncode == 0, output
        disturbed = site.verdicts()
        assert len(disturbed) == len(set(disturbed))
        assert disturbed == quiet[0].verdicts()
        site.run("verify_audit_trail")
    finally:
        site.close()


def belonging_to(home: str) -> list[str]:
    """Return the commands of the processes that live on a home."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if f"FALSESTEP_HOME={home}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                    found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
            except OSError:
                continue
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def until(met: Callable[[], bool], *, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if met():
            return True
        time.sleep(0.2)
    return met()


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGKILL])
def test_a_second_demo_works_on_what_is_there_and_nothing_goes_on_when_it_was_ended(
    quiet: tuple[Site, str], monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    site, port = quiet[0], free_port()
    before = site.verdicts()
    monkeypatch.setitem(site.env, "SERVE", "1")
    process = site.start("demo", "--resamples", "20", "--port", str(port))
    try:
        assert until(lambda: answers(port), seconds=60)
        assert len(belonging_to(site.env["FALSESTEP_HOME"])) >= 3, "the demo, its worker, the site"
        process.send_signal(number)
        said, _ = process.communicate(timeout=60)
        assert "nothing changed since it was frozen" in said
        assert before
        assert site.verdicts() == before
        assert until(lambda: belonging_to(site.env["FALSESTEP_HOME"]) == [], seconds=40)
        assert not answers(port)
    finally:
        process.kill()


def test_a_taken_port_is_told_before_any_work(
    quiet: tuple[Site, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(quiet[0].env, "SERVE", "1")
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        process = quiet[0].start("demo", "--port", str(port))
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    assert f"error: the site cannot be served on port {port}" in output
    assert "Sample study" not in output
    assert "Traceback" not in output


def test_a_second_demo_at_the_same_time_waits_for_the_first(quiet: tuple[Site, str]) -> None:
    site = quiet[0]
    with (Path(site.env["FALSESTEP_HOME"]) / "demo.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = site.start("demo", "--resamples", "20")
        assert process.stdout
        assert "Another demo is at work here" in process.stdout.readline()
    # It goes on by itself; how a second demo ends is told above.
    said = process.stdout.readline()
    process.kill()
    process.communicate(timeout=60)
    assert said.startswith("Sample study")
