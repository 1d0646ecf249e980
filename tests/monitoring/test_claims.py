"""Claims: never the same call twice, never more than the budget or the pace, whoever races."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from annotation.models import Study
from llm.types import ProviderError, Reply
from monitoring.engine import claims, pacing, settling, sweeper
from monitoring.engine.claims import Work, claim
from monitoring.engine.readings import Result
from monitoring.models import Attempt, Batch, Call, Pace, Verdict
from tests.monitoring.build import make_batch, make_model, make_small_standard

pytestmark = pytest.mark.django_db(transaction=True)

GOOD = '{"has_error": 0, "first_error_step": null, "error_confidence": 5, "reason": "fine"}'


def _race(number: int, action: Callable[[int], Any]) -> list[Any]:
    """Let `number` threads start at once, each with a connection of its own; return what each returned."""
    results: list[Any] = [None] * number
    errors: list[BaseException] = []
    barrier = threading.Barrier(number)

    def run(place: int) -> None:
        try:
            barrier.wait(timeout=20)
            results[place] = action(place)
        except BaseException as error:
            errors.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(place,)) for place in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not errors, errors
    return results


def _answered(work: Work, text: str = GOOD, **fields: Any) -> Result:
    reply = Reply(text=text, finish_reason="stop", input_tokens=10, output_tokens=10, **fields)
    return Result(work=work, finished_at=timezone.now(), reply=reply)


def _failed(work: Work, kind: str, **fields: Any) -> Result:
    return Result(work=work, finished_at=timezone.now(), error=ProviderError("no", kind=kind, **fields))


def test_racing_claimers_never_get_the_same_call(study: Study) -> None:
    batch = make_batch(make_small_standard(study, n_traces=30), [make_model(study, concurrency=100)])
    claimed = _race(8, lambda place: claim(batch_id=batch.pk, owner=f"w{place}", room=5).work)
    ids = [work.call_id for works in claimed for work in works]
    assert len(ids) == len(set(ids)) == 30
    assert Attempt.objects.count() == 30


def test_eight_racers_on_a_budget_of_one_call_make_one(study: Study) -> None:
    batch = make_batch(make_small_standard(study), [make_model(study)])
    price = claim(batch_id=batch.pk, owner="probe", room=1).work[0].reserved
    batch = make_batch(batch.standard, [batch.runs.get().monitor], max_cost=price * Decimal("1.5"))
    claimed = _race(8, lambda place: claim(batch_id=batch.pk, owner=f"w{place}", room=8).work)
    assert sum(len(works) for works in claimed) == 1
    batch.refresh_from_db()
    assert batch.reserved + batch.spent <= price * Decimal("1.5")
    assert Attempt.objects.filter(call__run__batch=batch).count() == 1


def test_a_batch_that_cannot_pay_for_its_next_call_is_paused_with_the_reason(study: Study) -> None:
    batch = make_batch(make_small_standard(study), [make_model(study)], max_cost=Decimal("0.0000001"))
    claimed = claim(batch_id=batch.pk, owner="w", room=8)
    batch.refresh_from_db()
    assert (claimed.work, claimed.open, batch.status) == ([], False, Batch.Status.PAUSED)
    assert batch.status_reason.startswith("budget")
    assert not Attempt.objects.exists()


def test_what_is_reserved_comes_back_when_the_call_is_settled(study: Study) -> None:
    batch = make_batch(make_small_standard(study), [make_model(study)], max_cost=Decimal(1))
    work = claim(batch_id=batch.pk, owner="w", room=1).work[0]
    batch.refresh_from_db()
    assert batch.reserved == work.reserved > 0
    settling.settle(batch_id=batch.pk, owner="w", results=[_answered(work)])
    batch.refresh_from_db()
    assert (batch.reserved, batch.spent) == (0, Decimal("0.00003"))
    assert Attempt.objects.get().cost == Decimal("0.00003")


def test_a_monitor_has_no_more_requests_in_flight_than_its_concurrency(study: Study) -> None:
    standard = make_small_standard(study, n_traces=12)
    model = make_model(study, concurrency=4)
    first, second = make_batch(standard, [model]), make_batch(standard, [model])
    claimed = _race(
        6, lambda place: claim(batch_id=(first, second)[place % 2].pk, owner=f"w{place}", room=9).work
    )
    assert sum(len(works) for works in claimed) == 4


def test_the_room_is_shared_out_over_the_monitors(study: Study) -> None:
    standard = make_small_standard(study, n_traces=12)
    models = [make_model(study, "one", concurrency=100), make_model(study, "two", concurrency=100)]
    batch = make_batch(standard, models)
    works = claim(batch_id=batch.pk, owner="w", room=10).work
    per_monitor = [sum(work.monitor_id == model.pk for work in works) for model in models]
    assert per_monitor == [5, 5]


def test_a_rate_limit_returns_the_call_for_later_and_slows_the_monitor_once(study: Study) -> None:
    batch = make_batch(make_small_standard(study), [make_model(study, concurrency=16)])
    works = claim(batch_id=batch.pk, owner="w", room=3).work
    failures = [_failed(work, "rate_limit", retry_after=30.0) for work in works]
    settling.settle(batch_id=batch.pk, owner="w", results=failures)
    pace = Pace.objects.get()
    assert pacing.limit_of(pace).allowed == 8, "one episode, however many requests met it"
    assert pace.not_before is not None and pace.not_before > timezone.now() + timedelta(seconds=25)
    calls = Call.objects.filter(failures=1, status=Call.Status.PENDING)
    assert calls.count() == 3
    assert all(call.not_before and call.not_before > timezone.now() for call in calls)
    assert claim(batch_id=batch.pk, owner="w", room=3).work == [], "nobody asks before the time"
    assert not Verdict.objects.exists()


def test_a_permanent_error_is_an_outcome_and_not_tried_again(study: Study) -> None:
    batch = make_batch(make_small_standard(study), [make_model(study)])
    work = claim(batch_id=batch.pk, owner="w", room=1).work[0]
    settling.settle(batch_id=batch.pk, owner="w", results=[_failed(work, "permanent")])
    verdict = Verdict.objects.get()
    assert (verdict.outcome, verdict.has_error) == ("provider_error", None)
    assert Call.objects.get(pk=work.call_id).status == Call.Status.DONE


def test_transient_errors_end_after_six_tries(study: Study) -> None:
    batch = make_batch(make_small_standard(study, n_traces=1), [make_model(study)])
    for number in range(1, 7):
        assert not Verdict.objects.exists()
        Call.objects.update(not_before=None)
        work = claim(batch_id=batch.pk, owner="w", room=1).work[0]
        assert work.number == number
        settling.settle(batch_id=batch.pk, owner="w", results=[_failed(work, "transient")])
    assert Verdict.objects.get().outcome == "provider_error"
    assert Attempt.objects.count() == 6


def test_a_late_worker_whose_lease_was_taken_over_writes_no_second_verdict(study: Study) -> None:
    batch = make_batch(make_small_standard(study, n_traces=1), [make_model(study)])
    late = claim(batch_id=batch.pk, owner="slow", room=1).work[0]
    Call.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert sweeper.return_lost_calls() == 1
    assert Attempt.objects.get(number=1).error_kind == "abandoned"
    again = claim(batch_id=batch.pk, owner="quick", room=1).work[0]
    assert again.number == 2
    other = GOOD.replace('"has_error": 0, "first_error_step": null', '"has_error": 1, "first_error_step": 2')
    assert settling.settle(batch_id=batch.pk, owner="slow", results=[_answered(late, other)]) == 0
    assert settling.settle(batch_id=batch.pk, owner="quick", results=[_answered(again)]) == 1
    assert settling.settle(batch_id=batch.pk, owner="slow", results=[_answered(late, other)]) == 0
    verdict = Verdict.objects.get()
    assert verdict.has_error is False and verdict.attempt_id == again.attempt_id


def test_the_same_worker_cannot_settle_an_older_attempt_of_a_call_it_claimed_again(study: Study) -> None:
    batch = make_batch(make_small_standard(study, n_traces=1), [make_model(study)])
    first = claim(batch_id=batch.pk, owner="w", room=1).work[0]
    Call.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    sweeper.return_lost_calls()
    claim(batch_id=batch.pk, owner="w", room=1)
    assert settling.settle(batch_id=batch.pk, owner="w", results=[_answered(first)]) == 0


def test_settling_twice_counts_once(study: Study) -> None:
    batch = make_batch(make_small_standard(study), [make_model(study)], max_cost=Decimal(1))
    work = claim(batch_id=batch.pk, owner="w", room=1).work[0]
    accepted = [settling.settle(batch_id=batch.pk, owner="w", results=[_answered(work)]) for _ in range(3)]
    batch.refresh_from_db()
    assert accepted == [1, 0, 0]
    assert batch.spent == Decimal("0.00003")


def test_an_abandoned_request_is_booked_at_its_upper_cost(study: Study) -> None:
    batch = make_batch(make_small_standard(study), [make_model(study)], max_cost=Decimal(1))
    work = claim(batch_id=batch.pk, owner="w", room=1).work[0]
    Call.objects.filter(pk=work.call_id).update(lease_until=timezone.now() - timedelta(seconds=1))
    sweeper.sweep()
    batch.refresh_from_db()
    assert (batch.reserved, batch.spent) == (0, work.reserved)


def test_a_renewed_lease_is_not_swept_and_only_named_calls_are_renewed(study: Study) -> None:
    batch = make_batch(make_small_standard(study), [make_model(study)])
    kept, lost = claim(batch_id=batch.pk, owner="w", room=2).work
    Call.objects.filter(status=Call.Status.RUNNING).update(lease_until=timezone.now() - timedelta(seconds=1))
    claims.renew(owner="w", call_ids=[kept.call_id])
    assert sweeper.return_lost_calls() == 1
    assert Call.objects.get(pk=kept.call_id).status == Call.Status.RUNNING
    assert Call.objects.get(pk=lost.call_id).status == Call.Status.PENDING


def test_a_reply_that_the_database_cannot_hold_spoils_only_its_own_call(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = make_batch(make_small_standard(study), [make_model(study)])
    good, bad = claim(batch_id=batch.pk, owner="w", room=2).work
    results = [_answered(good), _answered(bad, served_model="m", latency_ms=-1)]
    settling.settle_each(batch_id=batch.pk, owner="w", results=results)
    assert Verdict.objects.get(trace_id=good.trace_id).outcome == "ok"
    assert Verdict.objects.get(trace_id=bad.trace_id).outcome == "provider_error"


def test_a_reply_full_of_control_characters_is_stored(study: Study) -> None:
    batch = make_batch(make_small_standard(study), [make_model(study)])
    work = claim(batch_id=batch.pk, owner="w", room=1).work[0]
    text = '\x00\ud800 {"has_error": 1, "first_error_step": 2, "error_confidence": 9, "reason": "\\u0000\\ud800"}'
    settling.settle_each(batch_id=batch.pk, owner="w", results=[_answered(work, text)])
    assert Verdict.objects.get().outcome == "ok"
