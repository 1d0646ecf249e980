"""Waiting for a batch: sweeping and waking meanwhile, with a worker of our own if nobody else works."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO

from django.conf import settings
from django.db.models import Sum

from core.errors import UserError
from monitoring.engine import heartbeat, sweeper, waking
from monitoring.engine.children import ending_in_order, ends_with_us
from monitoring.models import Batch, Call, RunCount

log = logging.getLogger(__name__)

POLL = 0.5
STALLED = 10.0  # without progress for so long, the workers are woken again
MAX_STARTS = 50  # a worker that dies this often is not mended by starting it anew


class OwnWorker:
    """A Celery worker in a process of its own, started anew whenever it dies, stopped at the end."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None
        self._starts = 0
        self.log_path = Path(settings.HOME) / "worker.log"

    @property
    def started(self) -> bool:
        """Whether it was ever started."""
        return self._starts > 0

    def ensure(self) -> None:
        """Start the worker if it does not run."""
        if self._process is not None and self._process.poll() is None:
            return
        if self._starts >= MAX_STARTS:
            raise UserError(f"the worker died {self._starts} times; see {self.log_path}")
        if self._process is not None:
            log.warning("the worker died with status %s; starting another", self._process.returncode)
        if self._log is None:
            self._log = self.log_path.open("ab")
        self._starts += 1
        self._process = subprocess.Popen(
            [
                sys.executable,
                *("-m", "celery", "--app", "config", "worker", "--pool", "solo", "--loglevel", "INFO"),
                *("--without-gossip", "--without-mingle", "--hostname", f"own-{os.getpid()}@%h"),
            ],
            cwd=settings.BASE_DIR,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            # A Ctrl+C at the terminal is ours to handle: we stop the worker in order.
            start_new_session=True,
            preexec_fn=ends_with_us(),  # noqa: PLW1509 - it makes two calls into the C library, no more
        )

    def stop(self) -> None:
        """Tell the worker to stop, and end it if it does not."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(timeout=10)
        if self._log is not None:
            self._log.close()
            self._log = None

    def __enter__(self) -> OwnWorker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def wait_for(
    batch: Batch,
    *,
    timeout: float,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> Batch:
    """Wait until a batch is finished and return it anew; `tell(done, total)` hears of progress.

    Where no worker lives, one is started for the time of waiting. Raises UserError when the batch is paused
    or cancelled meanwhile, or after `timeout` seconds: its state is safe then, and the wait can be repeated.
    """
    with ending_in_order(), OwnWorker() as own:
        deadline = time.monotonic() + timeout
        progressed_at, progress = time.monotonic(), -1
        if batch.status == Batch.Status.RUNNING:
            waking.send(batch.pk)
        while True:
            # A dead worker's calls are returned at once, but waking is for when nothing moves.
            sweeper.sweep(wake=False)
            batch = Batch.objects.select_related("study", "standard").get(pk=batch.pk)
            done, total = counts(batch)
            if done != progress:
                progress, progressed_at = done, time.monotonic()
                tell(done, total)
            if batch.status == Batch.Status.FINISHED:
                return batch
            if batch.status != Batch.Status.RUNNING:
                raise UserError(f"batch {batch.number} is {batch.status} ({batch.status_reason})")
            if time.monotonic() > deadline:
                raise UserError(
                    f"batch {batch.number} is not finished after {timeout:g} s ({done} of {total} calls); "
                    "what is done is stored, and the workers go on with the rest"
                )
            stalled = time.monotonic() - progressed_at > STALLED
            if own.started or stalled or not heartbeat.living():
                own.ensure()
            if stalled:
                sweeper.wake_waiting()
                progressed_at = time.monotonic()
            time.sleep(POLL)


def counts(batch: Batch) -> tuple[int, int]:
    """Return how many calls of a batch are done, and how many there are without those skipped."""
    kept = RunCount.objects.filter(run__batch=batch, kind=RunCount.Kind.CALL)
    by_status: dict[str, int] = dict(kept.values_list("name").annotate(n=Sum("number")))
    skipped = by_status.get(Call.Status.SKIPPED, 0)
    return by_status.get(Call.Status.DONE, 0), sum(by_status.values()) - skipped
