"""What Prometheus is told of batches, calls and workers; read from the database when it asks."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from django.db.models import Count, Q, QuerySet, Sum
from django.utils import timezone

from core.metrics import Gauge
from core.models import Delivery
from monitoring.engine import heartbeat
from monitoring.models import Batch, Call, RunCount, Verdict

LATELY = timedelta(hours=24)


def gauges() -> Iterator[Gauge]:
    """Yield the gauges. Only batches that run or ended in the last day are counted, whatever there is beside them."""
    now = timezone.now()
    statuses = dict(Batch.objects.values_list("status").annotate(Count("pk")).order_by())
    yield Gauge(
        "falsestep_batches",
        "Batches by status",
        ("status",),
        tuple(((status,), float(statuses.get(status, 0))) for status in Batch.Status.values),
    )
    open_batches = Q(status__in=(Batch.Status.RUNNING, Batch.Status.PAUSED))
    recent = Batch.objects.filter(open_batches | Q(finished_at__gte=now - LATELY))
    by_status = _counted(recent, RunCount.Kind.CALL)
    yield Gauge(
        "falsestep_calls",
        "Calls of open batches and of those of the last day, by status; pending is the queue",
        ("status",),
        tuple(((status,), float(by_status.get(status, 0))) for status in Call.Status.values),
    )
    by_outcome = _counted(recent, RunCount.Kind.VERDICT)
    yield Gauge(
        "falsestep_verdicts",
        "Verdicts of open batches and of those of the last day, by outcome",
        ("outcome",),
        tuple(((outcome,), float(by_outcome.get(outcome, 0))) for outcome in Verdict.Outcome.values),
    )
    workers = heartbeat.living()
    yield Gauge("falsestep_workers", "Workers heard of lately", (), (((), float(len(workers))),))
    if workers:
        oldest = max((now - worker.seen_at).total_seconds() for worker in workers)
        yield Gauge(
            "falsestep_worker_silence_seconds", "Since the quietest of them was heard", (), (((), oldest),)
        )
    waiting = Delivery.objects.filter(status=Delivery.Status.WAITING).count()
    yield Gauge(
        "falsestep_webhook_messages_waiting", "Messages not yet delivered", (), (((), float(waiting)),)
    )


def _counted(batches: QuerySet[Batch], kind: RunCount.Kind) -> dict[str, int]:
    kept = RunCount.objects.filter(run__batch__in=batches, kind=kind)
    return dict(kept.values_list("name").annotate(n=Sum("number")))
