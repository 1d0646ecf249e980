"""Settling: what came back is written once, with the verdict, the retry or the failure, and the money."""

from __future__ import annotations

import logging
import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.db import DataError, IntegrityError, transaction

from llm.parsing import parse_verdict
from llm.retry import Retry, decide
from llm.types import ProviderError, Reply
from monitoring.engine import money, pacing
from monitoring.engine.authorship import wrote
from monitoring.engine.claims import Work
from monitoring.engine.limits import limits
from monitoring.engine.locking import locked
from monitoring.models import Attempt, Batch, Call, Run, Verdict

log = logging.getLogger(__name__)

ABANDONED = "abandoned"
_rng = random.Random()  # noqa: S311 - spreads retries out, nothing secret


@dataclass(frozen=True)
class Result:
    """How a request ended: with a reply, or with an error."""

    work: Work
    finished_at: datetime
    reply: Reply | None = None
    error: ProviderError | None = None


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
        verdicts: list[Verdict] = []
        done: list[int] = []
        spent = released = Decimal(0)
        for result in accepted:
            call, run = held[result.work.call_id], runs[result.work.run_id]
            paid = _close_attempt(result, run)
            spent += paid
            released += call.reserved
            verdict = _verdict(result, run, call)
            if verdict is not None:
                verdicts.append(verdict)
                done.append(call.pk)
        Call.objects.filter(pk__in=done).update(
            status=Call.Status.DONE, lease_owner="", lease_until=None, reserved=0
        )
        Verdict.objects.bulk_create(verdicts)
        pacing.learn(_ending(result) for result in accepted)
        _give_up_if_cancelled(batch)
        if spent or released:
            money.book(batch, release=released, spend=spent)
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
        Call.objects.filter(pk__in=[call.pk for call in hopeless]).update(
            status=Call.Status.DONE, lease_owner="", lease_until=None, reserved=0
        )
        Verdict.objects.bulk_create(
            Verdict(
                run_id=call.run_id,
                trace_id=call.trace_id,
                outcome=Verdict.Outcome.PROVIDER_ERROR,
                reason=f"given up: {lost[call.pk]} times its worker was lost with it",
                certificate_source_id=call.certificate_source_id,
            )
            for call in hopeless
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


def _close_attempt(result: Result, run: Run) -> Decimal:
    """Complete the attempt's row and return what it cost in USD."""
    reply, error = result.reply, result.error
    row = Attempt.objects.filter(pk=result.work.attempt_id, finished_at__isnull=True)
    if reply is None:
        assert error is not None
        row.update(finished_at=result.finished_at, error_kind=error.kind, error=_printable(str(error))[:4000])
        return Decimal(0)
    request = result.work.request
    paid = money.actual(reply, request, run.settings) if request else Decimal(0)
    row.update(
        finished_at=result.finished_at,
        reply=_printable(reply.text),
        finish_reason=reply.finish_reason[:40],
        served_model=reply.served_model[:200],
        input_tokens=reply.input_tokens,
        output_tokens=reply.output_tokens,
        cost=paid,
        latency_ms=reply.latency_ms,
    )
    return paid


def _tries(error: ProviderError) -> int:
    return limits().tries_when_limited if error.kind == "rate_limit" else limits().tries


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


def _verdict(result: Result, run: Run, call: Call) -> Verdict | None:
    """Return the verdict that a result leads to; None if the call waits for another try."""
    work = result.work
    verdict = Verdict(
        run_id=work.run_id,
        trace_id=work.trace_id,
        attempt_id=work.attempt_id,
        certificate_source_id=call.certificate_source_id,
        self_review=wrote(run.monitor, work.generator),
    )
    if result.error is not None:
        failures = call.failures + 1
        decision = decide(result.error, attempt=failures, max_attempts=_tries(result.error), rng=_rng)
        if isinstance(decision, Retry):
            Call.objects.filter(pk=call.pk).update(
                status=Call.Status.PENDING,
                lease_owner="",
                lease_until=None,
                reserved=0,
                failures=failures,
                not_before=result.finished_at + timedelta(seconds=decision.after_seconds),
            )
            return None
        verdict.outcome = Verdict.Outcome.PROVIDER_ERROR
        verdict.reason = _printable(str(result.error))[:600]
        return verdict
    assert result.reply is not None
    parsed = parse_verdict(result.reply.text, n_steps=work.n_steps, finish_reason=result.reply.finish_reason)
    verdict.outcome = parsed.outcome
    verdict.has_error = None if parsed.has_error is None else bool(parsed.has_error)
    verdict.first_error_step = parsed.first_error_step
    verdict.error_confidence = parsed.error_confidence
    verdict.reason = _printable(parsed.reason)
    verdict.parse_path = parsed.path[:60]
    verdict.raw = parsed.raw
    return verdict


def _printable(text: str) -> str:
    """Return the text without what PostgreSQL cannot store: NUL, and halves of surrogate pairs."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")
