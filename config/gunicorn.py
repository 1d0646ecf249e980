"""Gunicorn's settings: two processes of eight threads, and tidy measurements for Prometheus."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from prometheus_client import multiprocess

bind = "0.0.0.0:8000"
workers = int(os.environ.get("WEB_CONCURRENCY", "2"))
threads = 8
worker_tmp_dir = "/dev/shm"  # noqa: S108 - a heartbeat file on memory, as gunicorn advises for containers


def on_starting(server: Any) -> None:
    """Begin without the measurements of processes of an earlier start."""
    folder = os.environ.get("PROMETHEUS_MULTIPROC_DIR")
    if folder:
        Path(folder).mkdir(parents=True, exist_ok=True)
        for left in Path(folder).glob("*.db"):
            left.unlink()


def child_exit(server: Any, worker: Any) -> None:
    """Let go of what only a living process can say."""
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        multiprocess.mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]
