"""2,000 calls while workers are killed, Redis is flushed and restarted, tasks come twice, the database is away.

At the end every call has exactly one verdict, the server was asked no more than calls and lost attempts together,
and no run is left running.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import redis
from psycopg import sql

from tests.conftest import ROOT
from tests.faults.proxy import Proxy
from tests.llm.server import Server
from tests.monitoring.installation import Installation, wait_until

CALLS = 2000
KILLS = 20
WITHIN = 900.0  # seconds for the whole run
SEED = f"""
from tests.build import make_study
from tests.monitoring.build import make_small_standard, make_model
study = make_study(slug="s")
make_small_standard(study, n_traces={CALLS})
make_model(study, "model", base_url="%s", concurrency=48)
"""
TWICE = """
from config.celery import app
for _ in range(2):
    app.send_task("monitoring.tasks.drive_batch", args=[1], task_id="the-same")
"""


class OwnRedis:
    """A Redis of our own, without persistence: a restart forgets everything."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.start()

    def start(self) -> None:
        """Start it and wait until it answers."""
        self.process = subprocess.Popen(
            [
                "redis-server",
                "--port",
                str(self.port),
                "--bind",
                "127.0.0.1",
                "--save",
                "",
                "--appendonly",
                "no",
            ],
            stdout=subprocess.DEVNULL,
        )
        wait_until(self.answers, within=20, why="Redis does not start")

    def answers(self) -> bool:
        """Whether it answers."""
        try:
            with redis.Redis.from_url(self.url) as client:
                return bool(client.ping())
        except redis.ConnectionError:
            return False

    def flush(self) -> None:
        """Forget everything."""
        with redis.Redis.from_url(self.url) as client:
            client.flushall()

    def stop(self) -> None:
        """Kill it."""
        self.process.kill()
        self.process.wait(timeout=20)


@contextmanager
def _model_server() -> Iterator[Server]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.llm.server", "--scenario", json.dumps({"latency": 0.3})],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield Server(int(process.stdout.readline()))
    finally:
        process.terminate()
        process.wait(timeout=20)


@contextmanager
def _database(url: str) -> Iterator[tuple[str, Proxy]]:
    """Make a scratch database; yield its address through a proxy, and the proxy."""
    parts = urlsplit(url)
    name = f"falsestep_faults_{secrets.token_hex(4)}"
    with psycopg.connect(parts._replace(path="/postgres").geturl(), autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            proxy = Proxy(parts.hostname or "127.0.0.1", parts.port or 5432)
            who = f"{parts.username or 'postgres'}" + (f":{parts.password}" if parts.password else "")
            yield f"postgres://{who}@127.0.0.1:{proxy.port}/{name}", proxy
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def run(database_url: str) -> None:
    """Run the faults and say what came of them; status 1 if anything was lost or paid twice too often."""
    begun = time.monotonic()
    broker = OwnRedis()
    with (
        _model_server() as models,
        _database(database_url) as (url, proxy),
        tempfile.TemporaryDirectory() as home,
    ):
        made = Installation.make(
            Path(home),
            DATABASE_URL=url,
            REDIS_URL=broker.url,
            FALSESTEP_SECRET_KEY="faults",
            FALSESTEP_VISIBILITY_TIMEOUT="5",
        )
        try:
            _run(made, broker, proxy, models, begun)
        finally:
            made.close()
            broker.stop()


def _run(made: Installation, broker: OwnRedis, proxy: Proxy, models: Server, begun: float) -> None:
    made.python(SEED % models.url)
    made.manage("launch_batch", "--study", "s", "--monitors", "model", "--conditions", "BLIND")
    worker = made.worker("--pool", "prefork", "--concurrency", "2", "--beat")
    in_flight = 0
    for kill in range(1, KILLS + 1):
        enough = kill * 80
        wait_until(lambda: made.done() >= enough, within=WITHIN, why="nothing moves")  # noqa: B023
        in_flight += made.number("SELECT count(*) FROM monitoring_call WHERE status = 'running'")
        if kill % 5:
            _kill_a_holder(made)
        else:  # the whole worker, its pool with it, and a new one
            _kill_a_holder(made)
            os.killpg(worker.pid, signal.SIGKILL)
            worker.wait(timeout=20)
            worker = made.worker("--pool", "prefork", "--concurrency", "2", "--beat")
        _say(begun, f"kill {kill} after {made.done()} verdicts")
        if kill in (4, 14):
            broker.flush()
            _say(begun, "Redis flushed")
        if kill in (8, 16):
            broker.stop()
            broker.start()
            _say(begun, "Redis restarted, empty")
        if kill in (6, 12):
            made.python(TWICE)
            _say(begun, "the same task sent twice")
        if kill in (10, 18):
            proxy.down(5)
            _say(begun, "the database was away for 5 s")
    finished = "SELECT count(*) FROM monitoring_batch WHERE status = 'finished'"
    wait_until(lambda: made.number(finished) == 1, within=WITHIN, why="the batch does not end")
    _check(made, models, in_flight, begun)


def _kill_a_holder(made: Installation) -> None:
    """Kill, without warning, a living process that holds calls."""
    end = time.monotonic() + 120
    while time.monotonic() < end:
        holders = made.rows("SELECT DISTINCT lease_owner FROM monitoring_call WHERE status = 'running'")
        for (owner,) in holders:
            try:
                os.kill(int(owner.split(":")[1]), signal.SIGKILL)
            except ProcessLookupError:
                continue  # one killed before, whose calls nobody has returned yet
            return
        time.sleep(0.1)
    raise AssertionError("no living worker holds a call")


def _check(made: Installation, models: Server, in_flight: int, begun: float) -> None:
    state = models.settled()
    one = made.number
    verdicts = one("SELECT count(*) FROM monitoring_verdict WHERE outcome = 'ok'")
    traces = one("SELECT count(DISTINCT trace_id) FROM monitoring_verdict")
    accepted = one(
        "SELECT count(*) FROM monitoring_attempt WHERE error_kind = '' AND finished_at IS NOT NULL"
    )
    lost = one("SELECT count(*) FROM monitoring_attempt WHERE error_kind = 'abandoned'")
    unfinished = one("SELECT count(*) FROM monitoring_attempt WHERE finished_at IS NULL")
    running = one("SELECT count(*) FROM monitoring_run WHERE status = 'running'")
    reserved = one("SELECT count(*) FROM monitoring_batch WHERE reserved != 0")
    extra = state.paid - CALLS
    _say(
        begun,
        f"{verdicts} verdicts on {traces} traces; {state.paid} paid requests, {extra} more than calls; "
        f"{in_flight} calls were in flight at the kills, {lost} attempts lost; {running} runs left running",
    )
    assert (verdicts, traces, accepted) == (CALLS, CALLS, CALLS)
    assert (unfinished, running, reserved) == (0, 0, 0)
    assert extra <= lost and extra <= in_flight, "more was paid than was in flight at the kills"


def _say(begun: float, what: str) -> None:
    print(f"{time.monotonic() - begun:7.1f} s  {what}", flush=True)
