"""What REVISE and RCTRL go on from: the monitor's own verdict under BLIND, and the exchange that led to it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Count, QuerySet

from llm.parsing import REASON_LENGTH, ParsedVerdict
from llm.types import Message
from monitoring.models import Call, Condition, Run, Verdict
from monitoring.prompts import FOLLOW_UPS, Exchange

# A verdict that says whether there is an error can be revised, also one that contradicts itself on the step.
VALID = (Verdict.Outcome.OK, Verdict.Outcome.INCONSISTENT)
# As long as any: a reason of so many characters, each of up to four bytes, for the upper bound of a cost.
_LONGEST = ParsedVerdict("ok", 1, 1_000_000, 100, "\U0001d6fc" * REASON_LENGTH).normalised()


@dataclass(frozen=True)
class Prior:
    """A valid BLIND verdict, and what was sent for it (empty where it was made elsewhere)."""

    has_error: bool
    first_error_step: int | None
    verdict: str
    sent: tuple[Message, ...] = ()

    @property
    def exchange(self) -> Exchange:
        """The turns that a follow-up goes on from."""
        return Exchange(verdict=self.verdict, sent=self.sent)


# Stands for a verdict that is not there yet, where only the length counts.
STAND_IN = Prior(has_error=True, first_error_step=1, verdict=_LONGEST)


def newest_run(*, study_id: int, monitor_id: int | None) -> Run | None:
    """Return the newest finished BLIND run of a monitor that left verdicts; None for one that is not saved."""
    if monitor_id is None:
        return None
    runs = Run.objects.filter(
        batch__study_id=study_id,
        monitor_id=monitor_id,
        condition=Condition.BLIND,
        status=Run.Status.FINISHED,
    )
    with_verdicts = runs.annotate(n=Count("verdicts")).filter(n__gt=0)
    return with_verdicts.select_related("batch").order_by("-pk").first()


def load(run_id: int, trace_ids: Iterable[int]) -> dict[int, Prior]:
    """Return the priors by trace: the run's valid verdicts on these traces."""
    verdicts = Verdict.objects.filter(
        run_id=run_id, trace_id__in=list(trace_ids), outcome__in=VALID
    ).select_related("attempt")
    return {verdict.trace_id: _prior(verdict) for verdict in verdicts}


def _prior(verdict: Verdict) -> Prior:
    confidence = verdict.error_confidence
    parsed = ParsedVerdict(
        "ok" if verdict.outcome == Verdict.Outcome.OK else "inconsistent",
        int(bool(verdict.has_error)),
        verdict.first_error_step,
        int(confidence) if confidence is not None and confidence == int(confidence) else confidence,
        verdict.reason,
    )
    messages = verdict.attempt.messages if verdict.attempt else []
    return Prior(
        has_error=bool(verdict.has_error),
        first_error_step=verdict.first_error_step,
        verdict=parsed.normalised(),
        sent=tuple(Message(message["role"], message["content"]) for message in messages),
    )


def release_follow_ups(verdicts: Sequence[Verdict]) -> None:
    """Let calls that waited for these BLIND verdicts go: to be claimed if it is valid, else never asked.

    In the transaction that writes the verdicts, so that no follow-up waits for what is there already.
    """
    by_run: dict[int, dict[bool, list[int]]] = defaultdict(lambda: {True: [], False: []})
    for verdict in verdicts:
        by_run[verdict.run_id][verdict.outcome in VALID].append(verdict.trace_id)
    for run_id, traces in by_run.items():
        for valid, trace_ids in traces.items():
            if trace_ids:
                status = Call.Status.PENDING if valid else Call.Status.SKIPPED
                _follow_ups(run_id, trace_ids).filter(status=Call.Status.WAITING).update(status=status)


def hold_follow_ups(run_id: int, trace_ids: Sequence[int]) -> None:
    """Let the follow-ups of BLIND calls that are tried again wait for the new verdict."""
    held = _follow_ups(run_id, trace_ids).filter(status=Call.Status.SKIPPED)
    runs = list(held.values_list("run_id", flat=True).distinct())
    held.update(status=Call.Status.WAITING)
    Run.objects.filter(pk__in=runs).update(status=Run.Status.RUNNING, finished_at=None)


def _follow_ups(run_id: int, trace_ids: Sequence[int]) -> QuerySet[Call]:
    return Call.objects.filter(
        run__prior_run_id=run_id, run__condition__in=FOLLOW_UPS, trace_id__in=trace_ids, step__isnull=True
    )
