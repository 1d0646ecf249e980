"""Whether anybody would do the work: what `doctor` asks of the engine."""

from __future__ import annotations

from django.utils import timezone

from core.doctor import Finding
from monitoring.engine import heartbeat


def somebody_works() -> Finding:
    """A worker was heard of lately."""
    workers = heartbeat.living()
    if not workers:
        return Finding("workers", "failed", "no worker was heard of lately: start one (`make worker`)")
    latest = min((timezone.now() - worker.seen_at).total_seconds() for worker in workers)
    noun = "worker" if len(workers) == 1 else "workers"
    return Finding("workers", "ok", f"{len(workers)} {noun}, the last heard of {max(latest, 0):.0f} s ago")
