"""Worker processes say that they live, so that others can tell whether anybody would do the work."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from datetime import timedelta

from django.db import DatabaseError, connection
from django.utils import timezone

from monitoring.engine import identity
from monitoring.engine.limits import limits
from monitoring.models import WorkerHeartbeat

log = logging.getLogger(__name__)


def beat() -> None:
    """Write that this process lives."""
    now = timezone.now()
    WorkerHeartbeat.objects.update_or_create(
        owner=identity.owner(),
        defaults={"seen_at": now},
        create_defaults={"host": identity.host(), "pid": os.getpid(), "started_at": now, "seen_at": now},
    )


def living() -> list[WorkerHeartbeat]:
    """Return the workers heard of lately that are not known to be dead."""
    since = timezone.now() - timedelta(seconds=limits().silent)
    seen = WorkerHeartbeat.objects.filter(seen_at__gte=since).order_by("owner")
    return [worker for worker in seen if not identity.is_gone(worker.owner)]


def forget_the_dead() -> None:
    """Delete the rows of workers that are gone, or silent for an hour."""
    long_ago = timezone.now() - timedelta(hours=1)
    gone = [
        worker.pk
        for worker in WorkerHeartbeat.objects.all()
        if worker.seen_at < long_ago or identity.is_gone(worker.owner)
    ]
    if gone:
        WorkerHeartbeat.objects.filter(pk__in=gone).delete()


class Pulse:
    """A thread that beats until it is stopped, whatever the process is busy with."""

    def __init__(self) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread and take the row away."""
        self._stop.set()
        self._thread.join(timeout=5)

    def _run(self) -> None:
        while not self._stop.is_set():
            self._once(beat)
            self._stop.wait(limits().beat)
        self._once(lambda: WorkerHeartbeat.objects.filter(owner=identity.owner()).delete())

    @staticmethod
    def _once(action: Callable[[], object]) -> None:
        try:
            action()
        except DatabaseError as error:
            log.warning("no heartbeat written: %s", error)
        finally:
            # Never kept open between beats: a pool child forked meanwhile must not inherit a live connection.
            connection.close()
