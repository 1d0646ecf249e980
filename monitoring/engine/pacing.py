"""The pace of a monitor, kept in the database: a rate limit met by one worker slows all of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db.models import F, Q

from llm.limiter import AdaptiveLimit
from monitoring.models import Pace


@dataclass(frozen=True)
class Ending:
    """How a request of a monitor ended, as far as its pace goes; `limited` with what Retry-After said."""

    monitor_id: int
    started_at: datetime
    finished_at: datetime
    succeeded: bool
    limited: bool
    retry_after: float | None = None


def limit_of(pace: Pace) -> AdaptiveLimit:
    """Return a pace as the state machine that knows the rule; its clock is seconds since 1970."""
    return AdaptiveLimit(
        ceiling=pace.monitor.concurrency,
        current=pace.current or 0.0,
        shrunk_at=pace.shrunk_at.timestamp() if pace.shrunk_at else float("-inf"),
        not_before=pace.not_before.timestamp() if pace.not_before else float("-inf"),
    )


def learn(endings: Iterable[Ending]) -> None:
    """Let the paces learn from how requests ended, in the caller's transaction.

    At full pace an answer teaches nothing, so the rows are locked only where something may change.
    """
    by_monitor: dict[int, list[Ending]] = {}
    for ending in endings:
        by_monitor.setdefault(ending.monitor_id, []).append(ending)
    limited = {ending.monitor_id for group in by_monitor.values() for ending in group if ending.limited}
    slowed = Q(current__lt=F("monitor__concurrency")) | Q(monitor_id__in=limited)
    paces = (
        Pace.objects.select_for_update(of=("self",))
        .select_related("monitor")
        .filter(slowed, monitor_id__in=by_monitor)
        .order_by("monitor_id")  # claimers lock in the same order
    )
    for pace in paces:
        limit = limit_of(pace)
        for ending in sorted(by_monitor[pace.monitor_id], key=lambda one: one.finished_at):
            now = ending.finished_at.timestamp()
            if ending.limited:
                started = ending.started_at.timestamp()
                limit = limit.limited(started=started, now=now, retry_after=ending.retry_after)
            elif ending.succeeded:
                limit = limit.succeeded(now=now)
        pace.current = limit.current
        pace.shrunk_at = _moment(limit.shrunk_at)
        pace.not_before = _moment(limit.not_before)
        pace.save(update_fields=["current", "shrunk_at", "not_before"])


def _moment(seconds: float) -> datetime | None:
    return None if seconds == float("-inf") else datetime.fromtimestamp(seconds, UTC)
