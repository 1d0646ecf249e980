"""Runs and batches end when none of their calls is pending or running."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from core import audit, webhooks
from monitoring.engine.locking import locked
from monitoring.models import Batch, Call, Run

UNFINISHED = (Call.Status.WAITING, Call.Status.PENDING, Call.Status.RUNNING)


def finish_if_complete(batch_id: int) -> bool:
    """Mark what is complete in a batch as finished, once; return whether the batch itself is."""
    now = timezone.now()
    open_calls = Call.objects.filter(run=OuterRef("pk"), status__in=UNFINISHED)
    with transaction.atomic():
        batch = locked(batch_id)
        complete = Run.objects.filter(~Exists(open_calls), batch=batch, status=Run.Status.RUNNING)
        ids = list(complete.values_list("pk", flat=True))
        Run.objects.filter(pk__in=ids).update(status=Run.Status.FINISHED, finished_at=now)
        if batch.status not in (Batch.Status.RUNNING, Batch.Status.PAUSED):
            return batch.status == Batch.Status.FINISHED
        if Run.objects.filter(batch=batch, status=Run.Status.RUNNING).exists():
            return False
        batch.status = Batch.Status.FINISHED
        batch.status_reason = ""
        batch.finished_at = now
        batch.save(update_fields=["status", "status_reason", "finished_at"])
        audit.record(
            scope=batch.study.slug,
            actor=None,
            action="batch finished",
            subject=f"batch {batch.number}",
            payload={"spent": str(batch.spent)},
        )
        webhooks.emit(
            scope=batch.study.slug, event=webhooks.Event.BATCH_FINISHED, ids={"batch": batch.number}
        )
    return True
