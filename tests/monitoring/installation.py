"""An installation of its own, in a folder of its own: commands and workers are real processes there."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from tests.conftest import ROOT


@dataclass
class Installation:
    """Settings come from `environment`; the database is looked at from outside, without Django."""

    home: Path
    environment: dict[str, str]
    database_url: str = ""
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @classmethod
    def make(cls, home: Path, *, migrate: bool = True, **environment: str) -> Installation:
        """Make one, on SQLite and the broker of files unless the environment says otherwise.

        Without `migrate` its database is there already.
        """
        kept = {name: value for name, value in os.environ.items() if not name.startswith("FALSESTEP_")}
        for name in ("DATABASE_URL", "REDIS_URL"):
            kept.pop(name, None)
        made = cls(
            home,
            {**kept, "FALSESTEP_HOME": str(home), "FALSESTEP_ALLOW_PRIVATE_PROVIDERS": "1", **environment},
            database_url=environment.get("DATABASE_URL", ""),
        )
        if migrate:
            made.manage("migrate", "--verbosity", "0")
        return made

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a manage.py command."""
        return subprocess.Popen(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def manage(self, *arguments: str, status: int = 0) -> str:
        """Run a manage.py command to its end and return what it said."""
        process = self.start(*arguments)
        said, _ = process.communicate(timeout=180)
        assert process.returncode == status, said
        return said

    def python(self, code: str) -> str:
        """Run Python code with Django set up, and return what it printed."""
        prepared = f"import django; django.setup()\n{code}"
        environment = {**self.environment, "DJANGO_SETTINGS_MODULE": "config.settings"}
        done = subprocess.run(
            [sys.executable, "-c", prepared],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def worker(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a Celery worker."""
        with (self.home / "test-worker.log").open("ab") as log:
            process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "celery",
                    "--app",
                    "config",
                    "worker",
                    "--loglevel",
                    "INFO",
                    *arguments,
                ],
                cwd=ROOT,
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.workers.append(process)
        return process

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        if self.database_url:
            with psycopg.connect(self.database_url) as connection:
                return connection.execute(query).fetchall()  # type: ignore[arg-type]
        connection = sqlite3.connect(self.home / "falsestep.sqlite3", timeout=30)
        try:
            return connection.execute(query).fetchall()
        finally:
            connection.close()

    def number(self, query: str) -> int:
        """Return the one number that a query gives."""
        return int(self.rows(query)[0][0])

    def done(self) -> int:
        """Return the number of verdicts."""
        return self.number("SELECT count(*) FROM monitoring_verdict")

    def kill_worker(self) -> int:
        """Kill, without warning, a worker process of this installation that holds calls; return its pid."""
        holders = "SELECT lease_owner FROM monitoring_call WHERE status = 'running'"
        wait_until(lambda: self.rows(holders), within=60, why="no worker holds a call")
        for (owner,) in self.rows(holders):
            pid = int(owner.split(":")[1])
            os.kill(pid, signal.SIGKILL)
            return pid
        return self.kill_worker()

    def close(self) -> None:
        """End the workers that are left, and what outlived those that were killed (their beat)."""
        for process in self.workers:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=20)


def wait_until(condition: Callable[[], Any], *, within: float, why: str) -> None:
    """Wait until a condition holds, for so many seconds at most."""
    end = time.monotonic() + within
    while not condition():
        assert time.monotonic() < end, why
        time.sleep(0.02)


def read_json(path: Path) -> Any:
    """Return the content of a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))
