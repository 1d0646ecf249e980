"""What an administrator does to a batch under way: pause, resume, cancel, try the failed calls again."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal

from django.db import transaction
from django.utils import timezone

from core import audit
from core.errors import Conflict, UserError
from core.models import User
from monitoring.engine import priors, steps, waking
from monitoring.engine.locking import locked
from monitoring.models import Batch, Call, Condition, Run, Verdict
from monitoring.retention import refuse_if_removed

# A reply that says something stands, even if it contradicts itself; these say nothing about the trace.
FAILED = (
    Verdict.Outcome.NO_RESPONSE,
    Verdict.Outcome.REFUSAL,
    Verdict.Outcome.TRUNCATED,
    Verdict.Outcome.INVALID,
    Verdict.Outcome.PROVIDER_ERROR,
)


def pause_batch(*, batch: Batch, actor: User) -> Batch:
    """Take no more calls of a batch; those in flight end and count. Pausing twice changes nothing."""
    with transaction.atomic():
        batch = locked(batch.pk)
        if batch.status == Batch.Status.PAUSED:
            return batch
        if batch.status != Batch.Status.RUNNING:
            raise Conflict(f"batch {batch.number} is {batch.status}: there is nothing to pause")
        batch.status = Batch.Status.PAUSED
        batch.status_reason = f"paused by {actor}"
        batch.save(update_fields=["status", "status_reason"])
        _record(batch, actor, "batch paused", reason=batch.status_reason)
    return batch


def resume_batch(*, batch: Batch, actor: User, max_cost: Decimal | None = None) -> Batch:
    """Go on with a paused batch, with another budget in USD if one is given."""
    with transaction.atomic():
        batch = locked(batch.pk)
        if batch.status == Batch.Status.RUNNING and max_cost is None:
            return batch
        if batch.status not in (Batch.Status.PAUSED, Batch.Status.RUNNING):
            raise Conflict(f"batch {batch.number} is {batch.status}: it cannot be resumed")
        if max_cost is not None:
            if max_cost < batch.spent:
                raise UserError(
                    f"{batch.spent.normalize():f} USD are spent already; the budget cannot be less"
                )
            batch.max_cost = max_cost
        batch.status = Batch.Status.RUNNING
        batch.status_reason = ""
        batch.save(update_fields=["status", "status_reason", "max_cost"])
        budget = None if batch.max_cost is None else str(batch.max_cost)
        _record(batch, actor, "batch resumed", max_cost=budget)
        waking.wake(batch.pk)
    return batch


def cancel_batch(*, batch: Batch, actor: User) -> Batch:
    """End a batch for good: what is pending is given up, what is in flight ends and counts."""
    with transaction.atomic():
        batch = locked(batch.pk)
        if batch.status == Batch.Status.CANCELLED:
            return batch
        if batch.status == Batch.Status.FINISHED:
            raise Conflict(f"batch {batch.number} is finished: there is nothing to cancel")
        given_up = Call.objects.filter(
            run__batch=batch, status__in=(Call.Status.WAITING, Call.Status.PENDING)
        ).update(status=Call.Status.CANCELLED)
        Run.objects.filter(batch=batch, status=Run.Status.RUNNING).update(
            status=Run.Status.CANCELLED, finished_at=timezone.now()
        )
        batch.status = Batch.Status.CANCELLED
        batch.status_reason = f"cancelled by {actor}"
        batch.finished_at = timezone.now()
        batch.save(update_fields=["status", "status_reason", "finished_at"])
        _record(batch, actor, "batch cancelled", calls=given_up)
    return batch


def retry_failed(*, batch: Batch, actor: User) -> int:
    """Call again where a batch has no verdict but a failure; return how many calls that are.

    The failures' rows give way, so that the new outcome can stand in their place; every attempt stays.
    """
    with transaction.atomic():
        batch = locked(batch.pk)
        if batch.status == Batch.Status.CANCELLED:
            raise Conflict(f"batch {batch.number} is cancelled: launch a new one")
        outcomes: Counter[str] = Counter()
        count = 0
        for run in Run.objects.filter(batch=batch, n_calls__gt=0).order_by("pk"):
            failed = Verdict.objects.filter(run=run, outcome__in=FAILED)
            told = dict(failed.values_list("trace_id", "outcome"))
            calls = Call.objects.filter(run=run, status=Call.Status.DONE, trace_id__in=told)
            if run.condition == Condition.STEP:
                # The verdict on a trace comes of the replies on all its steps.
                refuse_if_removed(Run.objects.filter(pk=run.pk), "trying its steps again")
                calls = calls.filter(pk__in=steps.failed_calls(run, told))
            again = calls.update(status=Call.Status.PENDING, failures=0, invalid_replies=0, not_before=None)
            if again:
                count += again
                outcomes.update(told.values())
                failed.delete()
                Run.objects.filter(pk=run.pk).update(status=Run.Status.RUNNING, finished_at=None)
                priors.hold_follow_ups(run.pk, list(told))
        if count == 0:
            return 0
        if batch.status == Batch.Status.FINISHED:
            batch.status = Batch.Status.RUNNING
            batch.finished_at = None
            batch.save(update_fields=["status", "finished_at"])
        _record(batch, actor, "failed calls retried", calls=count, outcomes=dict(sorted(outcomes.items())))
        waking.wake(batch.pk)
    return count


def _record(batch: Batch, actor: User, action: str, **payload: object) -> None:
    audit.record(
        scope=batch.study.slug,
        actor=actor,
        action=action,
        subject=f"batch {batch.number}",
        payload=payload,
    )
