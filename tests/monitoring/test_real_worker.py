"""Real worker processes on both stacks: killed, drained, woken again; the verdicts are the same."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.conftest import skip_or_fail
from tests.llm.server import Scenario, Server
from tests.monitoring.installation import Installation, read_json, wait_until

FLAGS = '{"has_error": 1, "first_error_step": %d, "error_confidence": 80, "reason": "x"}'
SEED = """
from tests.build import make_study
from tests.monitoring.build import make_small_standard, make_model
study = make_study(slug="s")
make_small_standard(study, n_traces={n})
make_model(study, "model", base_url="{url}", concurrency={concurrency})
"""
LAUNCH = """
from django.core.management import call_command
call_command("launch_batch", "--study=s", "--monitors=model", "--conditions=BLIND")
"""
WAKE = """
from monitoring.engine import waking
waking.send(1, drivers=6)
"""
VERDICTS = (
    "SELECT trace_id, outcome, has_error, first_error_step, error_confidence FROM monitoring_verdict "
    "ORDER BY trace_id"
)

DATABASE = os.environ.get("DATABASE_URL", "")
SERVERS = pytest.param("servers", marks=[pytest.mark.postgres, pytest.mark.redis])


pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def file_to_copy(tmp_path_factory: pytest.TempPathFactory, migrated: str) -> Path:
    """A migrated database on SQLite: the suite's, or what the first installation leaves for the others."""
    return tmp_path_factory.mktemp("migrated") / "falsestep.sqlite3" if DATABASE else Path(migrated)


@pytest.fixture(params=["embedded", SERVERS])
def installation(
    request: pytest.FixtureRequest, tmp_path: Path, file_to_copy: Path, migrated: str
) -> Iterator[Installation]:
    """An installation on SQLite and files, and one on PostgreSQL and Redis where they are reachable."""
    if request.param == "embedded":
        there = file_to_copy.exists()
        if there:
            shutil.copy(file_to_copy, tmp_path / "falsestep.sqlite3")
        made = Installation.make(tmp_path, migrate=not there)
        if not there:
            shutil.copy(tmp_path / "falsestep.sqlite3", file_to_copy)
        yield made
        made.close()
        return
    redis = os.environ.get("REDIS_URL", "")
    if not DATABASE or not redis:
        skip_or_fail("DATABASE_URL and REDIS_URL are not set")
    server, _, _ = DATABASE.rpartition("/")
    name = f"falsestep_worker_{os.getpid()}"
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")  # type: ignore[arg-type]
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {migrated}")  # type: ignore[arg-type]
    made = Installation.make(
        tmp_path,
        migrate=False,
        DATABASE_URL=f"{server}/{name}",
        REDIS_URL=redis,
        FALSESTEP_SECRET_KEY="test",
    )
    yield made
    made.close()
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")  # type: ignore[arg-type]


def _flush_the_broker(installation: Installation) -> None:
    if redis := installation.environment.get("REDIS_URL"):
        import redis as client  # only this stack has it

        client.Redis.from_url(redis).flushdb()
        return
    folder = installation.home / "broker" / "messages"
    shutil.rmtree(folder)
    folder.mkdir()


def test_killing_the_worker_twice_changes_neither_the_verdicts_nor_their_number(
    installation: Installation, chat_server: Server, tmp_path: Path
) -> None:
    texts = [(f"In solution {number},", FLAGS % (1 + number % 5)) for number in range(0, 48, 2)]
    chat_server.use(Scenario(texts=texts, latency=0.25))
    installation.python(SEED.format(n=48, url=chat_server.url, concurrency=4))
    waiting = installation.start(
        *("launch_batch", "--study", "s", "--monitors", "model", "--conditions", "BLIND"),
        *("--max-cost", "1", "--wait", "--timeout", "120", "--json", str(tmp_path / "batch.json")),
    )
    killed = []
    for enough in (6, 20):
        wait_until(lambda: installation.done() >= enough, within=60, why="nothing moves")  # noqa: B023
        killed.append(installation.kill_worker())
    said, _ = waiting.communicate(timeout=120)
    assert waiting.returncode == 0, said
    assert len(set(killed)) == 2
    expected = [(number % 2 == 0, 1 + number % 5 if number % 2 == 0 else None) for number in range(48)]
    rows = installation.rows(VERDICTS)
    assert [(bool(flag), step) for _, _, flag, step, _ in rows] == expected
    assert {row[1] for row in rows} == {"ok"}
    abandoned = "SELECT count(*) FROM monitoring_attempt WHERE error_kind = 'abandoned'"
    assert 2 <= installation.number(abandoned) <= 8, "each kill costs at most what was in flight"
    state = chat_server.settled()
    assert state.requests <= 48 + 8
    assert max(state.requests_by_key.values()) <= 3
    content = read_json(tmp_path / "batch.json")
    assert (content["status"], content["runs"][0]["outcomes"]) == ("finished", {"ok": 48})
    assert installation.number("SELECT count(*) FROM monitoring_call WHERE status != 'done'") == 0


def test_a_flushed_broker_and_a_drained_worker_lose_nothing(
    installation: Installation, chat_server: Server
) -> None:
    pool = "prefork" if installation.database_url else "solo"
    chat_server.use(Scenario(latency=0.4))
    installation.python(SEED.format(n=24, url=chat_server.url, concurrency=4) + LAUNCH)
    _flush_the_broker(installation)
    worker = installation.worker("--pool", pool, "--concurrency", "2")
    wait_until(lambda: installation.done() >= 4, within=60, why="the worker did not find the batch by itself")
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(timeout=30) == 0
    done = installation.done()
    assert 4 <= done < 24
    assert installation.rows("SELECT DISTINCT status FROM monitoring_call ORDER BY status") == [
        ("done",),
        ("pending",),
    ]
    assert installation.number("SELECT count(*) FROM monitoring_attempt WHERE error_kind != ''") == 0
    assert installation.number("SELECT count(*) FROM monitoring_workerheartbeat") == 0
    _flush_the_broker(installation)
    again = installation.worker("--pool", pool, "--concurrency", "2")
    wait_until(lambda: installation.done() == 24, within=60, why="the second worker did not go on")
    again.send_signal(signal.SIGTERM)
    assert again.wait(timeout=30) == 0
    state = chat_server.settled()
    assert (state.requests, max(state.requests_by_key.values())) == (24, 1)


def test_the_same_message_delivered_many_times_asks_nothing_twice(
    installation: Installation, chat_server: Server
) -> None:
    chat_server.use(Scenario(latency=0.1))
    installation.python(SEED.format(n=24, url=chat_server.url, concurrency=4) + LAUNCH + WAKE)
    worker = installation.worker("--pool", "prefork", "--concurrency", "3")
    wait_until(
        lambda: installation.rows("SELECT status FROM monitoring_batch") == [("finished",)],
        within=60,
        why="the batch is not finished",
    )
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(timeout=30) == 0
    state = chat_server.settled()
    assert (state.requests, max(state.requests_by_key.values()), installation.done()) == (24, 1, 24)


@pytest.mark.parametrize("installation", ["embedded"], indirect=True)
def test_waiting_for_a_paused_batch_ends_with_its_reason(
    installation: Installation, chat_server: Server
) -> None:
    installation.python(SEED.format(n=6, url=chat_server.url, concurrency=4))
    said = installation.manage(
        *("launch_batch", "--study", "s", "--monitors", "model", "--conditions", "BLIND"),
        *("--max-cost", "0.000001", "--wait", "--timeout", "60"),
        status=1,
    )
    assert "error: batch 1 is paused (budget" in said
    assert chat_server.state().requests == 0
    left = installation.number("SELECT count(*) FROM monitoring_workerheartbeat")
    assert left == 0, "the worker that was started for the wait is stopped with it"
