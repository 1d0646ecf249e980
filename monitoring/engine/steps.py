"""STEP: the verdict on a trace is the union of what was said of its steps, each with all later ones hidden.

The earliest flag is the first error step, the highest confidence the trace's. A step without a readable reply
leaves the union unknown: the trace then has that outcome and no verdict, unless an earlier step was flagged, which
settles presence and place alike.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from llm.parsing import ParsedStepVerdict, parse_step_verdict
from monitoring.models import Attempt, Call, Condition, Run, Verdict

Place = tuple[int, int]  # a run and a trace
OPEN = (Call.Status.WAITING, Call.Status.PENDING, Call.Status.RUNNING)


@dataclass(frozen=True)
class Prefix:
    """What was said of one step, and by which attempt."""

    step: int
    call_id: int
    attempt_id: int | None
    said: ParsedStepVerdict


def read(attempt: Attempt | None) -> ParsedStepVerdict:
    """Return what an attempt says of its step; a request without a reply says provider_error."""
    if attempt is None or attempt.error_kind:
        return ParsedStepVerdict("provider_error", reason="" if attempt is None else attempt.error[:600])
    return read_reply(attempt.reply, attempt.finish_reason)


def read_reply(text: str, finish_reason: str) -> ParsedStepVerdict:
    """Return what a reply says of its step."""
    return parse_step_verdict(text, finish_reason=finish_reason)


def prefixes_of(places: Iterable[Place]) -> dict[Place, list[Prefix]]:
    """Return what was said of the answered steps of these traces, in the order of the steps."""
    wanted = set(places)
    calls = Call.objects.filter(
        run_id__in={run for run, _ in wanted},
        trace_id__in={trace for _, trace in wanted},
        step__isnull=False,
        status=Call.Status.DONE,
    ).order_by("run_id", "trace_id", "step")
    rows = [call for call in calls if (call.run_id, call.trace_id) in wanted]
    last: dict[int, Attempt] = {}
    for attempt in Attempt.objects.filter(call__in=[call.pk for call in rows]).order_by("number"):
        last[attempt.call_id] = attempt
    found: dict[Place, list[Prefix]] = defaultdict(list)
    for call in rows:
        newest = last.get(call.pk)
        prefix = Prefix(call.step or 0, call.pk, newest.pk if newest else None, read(newest))
        found[(call.run_id, call.trace_id)].append(prefix)
    return found


def union(prefixes: list[Prefix]) -> Verdict:
    """Return the verdict (unsaved, without run and trace) that the steps' verdicts come to."""
    flagged = next((one for one in prefixes if one.said.step_has_error), None)
    failed = next((one for one in prefixes if one.said.outcome != "ok"), None)
    sure = [one.said.error_confidence for one in prefixes if one.said.error_confidence is not None]
    raw = {
        "asked": len(prefixes),
        "flagged": [one.step for one in prefixes if one.said.step_has_error],
        "failed": {str(one.step): one.said.outcome for one in prefixes if one.said.outcome != "ok"},
    }
    if failed is not None and (flagged is None or failed.step < flagged.step):
        return Verdict(
            attempt_id=failed.attempt_id,
            outcome=failed.said.outcome,
            reason=f"step {failed.step}: {failed.said.reason or failed.said.outcome}"[:600],
            parse_path=f"step {failed.step}, {failed.said.path}"[:60],
            raw=raw,
        )
    told = flagged or prefixes[-1]
    return Verdict(
        attempt_id=told.attempt_id,
        outcome=Verdict.Outcome.OK,
        has_error=flagged is not None,
        first_error_step=flagged.step if flagged else None,
        error_confidence=max(sure) if sure else None,
        reason=told.said.reason,
        parse_path=f"union of {len(prefixes)}, {told.said.path}"[:60],
        raw=raw,
    )


def go_on(answered: Iterable[Place], runs: dict[int, Run]) -> list[tuple[Place, Verdict]]:
    """Let the next step be asked about where that was the order; return the verdicts of traces that are complete.

    In the transaction that settles the calls, so that no trace stays between two steps.
    """
    places = set(answered)
    stopping = {place for place in places if runs[place[0]].settings.get("step_prefixes") == "first_flag"}
    said = prefixes_of(stopping)
    for place in stopping:
        _next(place, said[place])
    open_ones = Call.objects.filter(
        run_id__in={run for run, _ in places}, trace_id__in={trace for _, trace in places}, status__in=OPEN
    )
    places -= set(open_ones.values_list("run_id", "trace_id").distinct())
    complete = prefixes_of(places) if places else {}
    return [(place, union(prefixes)) for place, prefixes in sorted(complete.items())]


def _next(place: Place, said: list[Prefix]) -> None:
    waiting = Call.objects.filter(run_id=place[0], trace_id=place[1], status=Call.Status.WAITING)
    if any(one.said.step_has_error for one in said):
        waiting.update(status=Call.Status.SKIPPED)
        return
    asked = Call.objects.filter(
        run_id=place[0], trace_id=place[1], status__in=(Call.Status.PENDING, Call.Status.RUNNING)
    )
    following = waiting.order_by("step").values_list("pk", flat=True).first()
    if following is not None and not asked.exists():
        Call.objects.filter(pk=following).update(status=Call.Status.PENDING)


def failed_calls(run: Run, trace_ids: Iterable[int]) -> list[int]:
    """Return the calls of these traces' steps that have no readable reply."""
    if run.condition != Condition.STEP:
        return []
    said = prefixes_of((run.pk, trace_id) for trace_id in trace_ids)
    return [one.call_id for prefixes in said.values() for one in prefixes if one.said.outcome != "ok"]
