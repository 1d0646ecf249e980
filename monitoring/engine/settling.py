"""Settling: what came back is written once, with the verdict, the retry or the failure, and the money."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal

from django.db import DataError, IntegrityError, transaction

from annotation.models import Trace
from llm.types import ProviderError
from monitoring.engine import money, pacing, priors, readings, steps
from monitoring.engine.authorship import wrote
from monitoring.engine.bulk import insert_rows, update_rows
from monitoring.engine.limits import limits
from monitoring.engine.locking import locked
from monitoring.engine.pausing import pause_locked
from monitoring.engine.readings import Again, Result, StepDone, printable
from monitoring.models import Attempt, Batch, Call, Condition, Run, Verdict

log = logging.getLogger(__name__)

ABANDONED = "abandoned"


def settle(*, batch_id: int, owner: str, results: Sequence[Result]) -> int:
    """Write the results of calls that `owner` holds, in one transaction; return how many were accepted.

    A call whose lease was taken over meanwhile is left alone: whoever holds it now answers for it, and its
    attempt was closed as abandoned. So a late worker never writes a second verdict.
    """
    with transaction.atomic():
        batch = locked(batch_id)
        held = _held(owner, results)
        accepted = [result for result in results if result.work.call_id in held]
        for result in results:
            if result.work.call_id not in held:
                log.warning("call %s: the lease was lost, its late reply is left out", result.work.call_id)
        runs = Run.objects.select_related("monitor").in_bulk({result.work.run_id for result in accepted})
        spent = _close_attempts(accepted, runs)
        released = sum((held[result.work.call_id].reserved for result in accepted), Decimal(0))
        verdicts: list[Verdict] = []
        done: list[int] = []
        stepped: list[steps.Place] = []
        again: list[tuple[int, Again]] = []
        for result in accepted:
            call, run = held[result.work.call_id], runs[result.work.run_id]
            reading = readings.read(result, run, call)
            if isinstance(reading, Again):
                again.append((call.pk, reading))
                continue
            done.append(call.pk)
            if isinstance(reading, StepDone):
                stepped.append((run.pk, call.trace_id))
            else:
                verdicts.append(reading)
        _finish_calls(done)
        _return_calls(again)
        _write_verdicts(verdicts, stepped, runs)
        pacing.learn(_ending(result) for result in accepted)
        _give_up_if_cancelled(batch)
        if spent or released:
            money.book(batch, release=released, spend=spent)
        _pause_if_hopeless(batch, [result for result in accepted if _is_hopeless(result)], runs)
    return len(accepted)


def settle_each(*, batch_id: int, owner: str, results: Sequence[Result]) -> None:
    """Write results together; if the database refuses one of them, one by one, and that one as an error.

    What a model says must never stop the batch, whatever characters or numbers it finds.
    """
    try:
        settle(batch_id=batch_id, owner=owner, results=results)
        return
    except (DataError, IntegrityError, ValueError) as error:
        log.warning("batch %s: %d results refused together: %s", batch_id, len(results), error)
    for result in results:
        try:
            settle(batch_id=batch_id, owner=owner, results=[result])
        except (DataError, IntegrityError, ValueError) as error:
            log.exception("call %s: its reply cannot be stored", result.work.call_id)
            unfit = ProviderError(f"the reply cannot be stored: {error}", kind="permanent")
            told = Result(work=result.work, finished_at=result.finished_at, error=unfit)
            settle(batch_id=batch_id, owner=owner, results=[told])


def abandon(calls: Iterable[Call], *, batch: Batch, now: datetime, why: str) -> int:
    """Close the unfinished attempts of leased calls and return the calls to pending; return their number.

    The caller has locked the batch and the calls. An abandoned request may have been paid for: it is booked
    at its upper cost, so that the budget holds whatever the provider charges.
    """
    calls = list(calls)
    spent = Decimal(0)
    lost: dict[int, int] = defaultdict(int)
    for attempt in Attempt.objects.filter(call__in=calls, finished_at__isnull=True).select_related("call"):
        Attempt.objects.filter(pk=attempt.pk, finished_at__isnull=True).update(
            finished_at=now, error_kind=ABANDONED, error=why, cost=attempt.call.reserved
        )
        spent += attempt.call.reserved
    closed = Attempt.objects.filter(call__in=calls, error_kind=ABANDONED).values_list("call_id", flat=True)
    for call_id in closed:
        lost[call_id] += 1
    hopeless = [call for call in calls if lost[call.pk] >= limits().abandoned]
    Call.objects.filter(pk__in=[call.pk for call in calls if call not in hopeless]).update(
        status=Call.Status.PENDING, lease_owner="", lease_until=None, reserved=0
    )
    if hopeless:
        _finish_calls([call.pk for call in hopeless])
        runs = Run.objects.select_related("monitor").in_bulk({call.run_id for call in hopeless})
        _write_verdicts(
            [
                Verdict(
                    run_id=call.run_id,
                    trace_id=call.trace_id,
                    outcome=Verdict.Outcome.PROVIDER_ERROR,
                    reason=f"given up: {lost[call.pk]} times its worker was lost with it",
                    certificate_source_id=call.certificate_source_id,
                )
                for call in hopeless
                if call.step is None
            ],
            [(call.run_id, call.trace_id) for call in hopeless if call.step is not None],
            runs,
        )
    _give_up_if_cancelled(batch)
    released = sum((call.reserved for call in calls), Decimal(0))
    if released:
        money.book(batch, release=released, spend=spent)
    return len(calls)


def release(*, batch_id: int, owner: str, call_ids: Sequence[int], now: datetime) -> None:
    """Give calls back that this worker, told to stop, will not see the end of."""
    with transaction.atomic():
        batch = locked(batch_id)
        calls = (
            Call.objects.select_for_update()
            .filter(pk__in=call_ids, status=Call.Status.RUNNING, lease_owner=owner)
            .order_by("pk")
        )
        abandon(calls, batch=batch, now=now, why="the worker was told to stop before the reply came")


def _give_up_if_cancelled(batch: Batch) -> None:
    """A call that would wait for another try waits in vain once its batch is cancelled."""
    if batch.status == Batch.Status.CANCELLED:
        Call.objects.filter(run__batch=batch, status=Call.Status.PENDING).update(status=Call.Status.CANCELLED)


def _held(owner: str, results: Sequence[Result]) -> dict[int, Call]:
    """Lock and return the calls that `owner` still holds under the very attempt that each result tells of."""
    numbers = {result.work.call_id: result.work.number for result in results}
    calls = (
        Call.objects.select_for_update()
        .filter(pk__in=numbers, status=Call.Status.RUNNING, lease_owner=owner)
        .order_by("pk")
    )
    return {call.pk: call for call in calls if call.attempts_made == numbers[call.pk]}


_TOLD = (
    "finished_at",
    "reply",
    "finish_reason",
    "served_model",
    "input_tokens",
    "output_tokens",
    "cost",
    "latency_ms",
    "error_kind",
    "error",
)


def _close_attempts(results: Sequence[Result], runs: Mapping[int, Run]) -> Decimal:
    """Complete the attempts' rows and return what they cost in USD."""
    rows: list[tuple[object, ...]] = []
    spent = Decimal(0)
    for result in results:
        reply, error, request = result.reply, result.error, result.work.request
        if reply is None:
            assert error is not None
            told = printable(str(error))[:4000]
            rows.append(
                (
                    result.work.attempt_id,
                    result.finished_at,
                    "",
                    "",
                    "",
                    None,
                    None,
                    0,
                    None,
                    error.kind,
                    told,
                )
            )
            continue
        paid = money.actual(reply, request, runs[result.work.run_id].settings) if request else Decimal(0)
        spent += paid
        rows.append(
            (
                result.work.attempt_id,
                result.finished_at,
                printable(reply.text),
                printable(reply.finish_reason)[:40],
                printable(reply.served_model)[:200],
                reply.input_tokens,
                reply.output_tokens,
                paid,
                reply.latency_ms,
                "",
                "",
            )
        )
    update_rows(Attempt, _TOLD, rows, only_if_null="finished_at")
    return spent


def _finish_calls(ids: Sequence[int]) -> None:
    Call.objects.filter(pk__in=ids).update(
        status=Call.Status.DONE, lease_owner="", lease_until=None, reserved=0
    )


def _return_calls(again: Sequence[tuple[int, Again]]) -> None:
    fields = (
        *("status", "lease_owner", "lease_until", "reserved"),
        *("failures", "invalid_replies", "not_before"),
    )
    rows = [
        (pk, Call.Status.PENDING.value, "", None, 0, one.failures, one.invalid_replies, one.not_before)
        for pk, one in again
    ]
    update_rows(Call, fields, rows)


def _write_verdicts(verdicts: list[Verdict], stepped: list[steps.Place], runs: dict[int, Run]) -> None:
    """Write verdicts, with those of traces whose last step was judged, and let what waited for them go on."""
    if stepped:
        complete = steps.go_on(stepped, runs)
        traces = Trace.objects.in_bulk([trace_id for (_, trace_id), _ in complete])
        for (run_id, trace_id), verdict in complete:
            verdict.run_id, verdict.trace_id = run_id, trace_id
            verdict.self_review = wrote(runs[run_id].monitor, traces[trace_id].generator)
            verdicts.append(verdict)
    insert_rows(Verdict, verdicts)
    blind = [verdict for verdict in verdicts if runs[verdict.run_id].condition == Condition.BLIND]
    if blind and Run.objects.filter(prior_run_id__in={verdict.run_id for verdict in blind}).exists():
        priors.release_follow_ups(blind)


def _is_hopeless(result: Result) -> bool:
    return result.error is not None and result.error.kind == "permanent"


def _pause_if_hopeless(batch: Batch, failed: Sequence[Result], runs: Mapping[int, Run]) -> None:
    """Pause a batch when of one of its runs every request so far has failed for good: more would end alike."""
    if batch.status != Batch.Status.RUNNING:
        return
    for run_id in {result.work.run_id for result in failed}:
        attempts = Attempt.objects.filter(call__run_id=run_id, finished_at__isnull=False)
        if attempts.filter(error_kind="").exists() or attempts.count() < limits().hopeless:
            continue
        run = runs[run_id]
        example = next(str(result.error) for result in failed if result.work.run_id == run_id)
        pause_locked(
            batch,
            reason=f"every request of {run.monitor.slug} under {run.condition} failed: {printable(example)}",
        )
        return


def _ending(result: Result) -> pacing.Ending:
    error = result.error
    return pacing.Ending(
        monitor_id=result.work.monitor_id,
        started_at=result.work.started_at,
        finished_at=result.finished_at,
        succeeded=error is None,
        limited=error is not None and error.kind == "rate_limit",
        retry_after=None if error is None else error.retry_after,
    )
