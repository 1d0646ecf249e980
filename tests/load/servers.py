"""The servers of a run, each its own: a PostgreSQL cluster, gunicorn as in production, a model server."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from monitoring.engine.children import ends_with_us
from tests.conftest import ROOT
from tests.monitoring.installation import Installation, wait_until


def free_port() -> int:
    """Return a port of 127.0.0.1 that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class OwnPostgres:
    """A cluster in a folder of its own, with PostgreSQL's default settings; it can be restarted."""

    def __init__(self) -> None:
        self._programs = _programs()
        self._folder = Path(tempfile.mkdtemp(prefix="falsestep-load-postgres-"))
        self._data = self._folder / "data"
        # PostgreSQL refuses to run as root.
        self._user = "postgres" if os.getuid() == 0 else None
        if self._user:
            who = pwd.getpwnam(self._user)
            os.chown(self._folder, who.pw_uid, who.pw_gid)
        subprocess.run(
            [self._programs / "initdb", "--pgdata", self._data, "--username=postgres", "--auth=trust", "--no-sync"],
            user=self._user,
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
            check=True,
        )  # fmt: skip
        self.port = free_port()
        self.url = f"postgres://postgres@127.0.0.1:{self.port}/postgres"
        self.start()

    def start(self) -> None:
        """Start it and wait until it takes connections."""
        options = {
            "port": self.port,
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": self._folder,
        }
        told = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        with (self._folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [self._programs / "postgres", "-D", self._data, *told],
                user=self._user,
                group=self._user,
                extra_groups=[],
                cwd=self._folder,
                stdout=log,
                stderr=log,
                preexec_fn=ends_with_us(),
            )  # fmt: skip
        wait_until(self.answers, within=60, why="PostgreSQL does not start")

    def answers(self) -> bool:
        """Whether it takes connections."""
        try:
            psycopg.connect(self.url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def restart(self) -> None:
        """End it at once, as a crash does, and start it again: it recovers from its log."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait(timeout=30)
        self.start()

    def close(self) -> None:
        """End it and remove its folder."""
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait(timeout=20)
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)


def _programs() -> Path:
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    versions = [path for path in Path("/usr/lib/postgresql").glob("*/bin") if (path / "initdb").exists()]
    if not versions:
        raise SystemExit("initdb and postgres are needed: install PostgreSQL's server")
    return max(versions, key=lambda path: int(path.parent.name))


@contextmanager
def website(made: Installation) -> Iterator[tuple[int, int]]:
    """Serve the site with gunicorn as the image does; yield its port and the process of its master."""
    port = free_port()
    log = (made.home / "web.log").open("ab")
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "gunicorn", "config.wsgi", "--config", "config/gunicorn.py"),
            *("--bind", f"127.0.0.1:{port}"),
        ],
        cwd=ROOT,
        env={**made.environment, "PROMETHEUS_MULTIPROC_DIR": str(made.home / "metrics")},
        stdout=log,
        stderr=log,
        preexec_fn=ends_with_us(),
    )

    def answers() -> bool:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=2).close()
        except OSError:
            return False
        return True

    try:
        wait_until(answers, within=60, why=f"the site does not start, see {made.home / 'web.log'}")
        yield port, process.pid
    finally:
        process.terminate()
        try:
            process.wait(timeout=40)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(timeout=10)
        log.close()


def children_of(pid: int) -> list[int]:
    """Return the processes that a process has started."""
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def seconds_of(pid: int) -> float:
    """Return the processor time of a process, of those it has started and of those among them that have ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        own = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
        return own + sum(map(seconds_of, children_of(pid)))
    except FileNotFoundError:
        return 0.0  # ended meanwhile


@contextmanager
def model_server(latency: float) -> Iterator[tuple[str, int]]:
    """Serve a model that answers after so many seconds; yield its base address and its process."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.llm.server", "--scenario", json.dumps({"latency": latency})],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=ends_with_us(),
    )
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1", process.pid
    finally:
        process.terminate()
        process.wait(timeout=20)
