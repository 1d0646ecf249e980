"""The engine's own brake: it pauses a batch that cannot go on, with the reason."""

from __future__ import annotations

from django.db import transaction

from core import audit
from monitoring.engine.locking import locked
from monitoring.models import Batch


def pause(batch_id: int, *, reason: str) -> None:
    """Pause a running batch."""
    with transaction.atomic():
        batch = locked(batch_id)
        if batch.status == Batch.Status.RUNNING:
            pause_locked(batch, reason=reason)


def pause_locked(batch: Batch, *, reason: str) -> None:
    """Pause a batch whose row the caller has locked."""
    batch.status = Batch.Status.PAUSED
    batch.status_reason = reason[:300]
    batch.save(update_fields=["status", "status_reason"])
    audit.record(
        scope=batch.study.slug,
        actor=None,
        action="batch paused",
        subject=f"batch {batch.number}",
        payload={"reason": batch.status_reason},
    )
