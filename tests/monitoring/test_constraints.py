"""The database refuses the rows that must not be, each by its own constraint or guard."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.db import DatabaseError, IntegrityError, transaction
from django.utils import timezone

from annotation.models import Study, Trace
from monitoring.models import Attempt, Batch, Call, Monitor, Pace, Run, Verdict
from tests.monitoring.build import make_batch, make_model, make_small_standard

pytestmark = pytest.mark.django_db


@pytest.fixture
def run(study: Study) -> Run:
    batch = make_batch(make_small_standard(study), [make_model(study)])
    return batch.runs.get()


def _refuses(action: Any, match: str | None = None) -> None:
    with pytest.raises(IntegrityError, match=match), transaction.atomic():
        action()


def _call(run: Run) -> Call:
    call = run.calls.order_by("pk").first()
    assert call is not None
    return call


def _attempt(call: Call, **fields: Any) -> Attempt:
    return Attempt.objects.create(
        **{"call": call, "number": 1, "owner": "w", "started_at": timezone.now(), **fields}
    )


def _verdict(run: Run, **fields: Any) -> Verdict:
    values = {"run": run, "trace": _call(run).trace, "outcome": "ok", "has_error": False, **fields}
    return Verdict.objects.create(**values)


def test_one_monitor_per_slug(run: Run) -> None:
    _refuses(lambda: make_model(run.batch.study))


def test_a_monitor_has_at_least_one_request_in_flight(run: Run) -> None:
    _refuses(lambda: Monitor.objects.update(concurrency=0), "at least one request")


@pytest.mark.parametrize("name", ["input_price", "output_price"])
def test_a_price_is_not_negative(name: str, run: Run) -> None:
    _refuses(lambda: Monitor.objects.update(**{name: Decimal(-1)}), "price is not negative")


def test_a_pace_lets_at_least_one_request_pass(run: Run) -> None:
    _refuses(lambda: Pace.objects.update(current=0.5), "at least one request")


def test_one_batch_per_number(run: Run) -> None:
    batch = run.batch
    _refuses(lambda: Batch.objects.create(study=batch.study, standard=batch.standard, number=batch.number))


@pytest.mark.parametrize("changes", [{"status": "lost"}, {"spent": Decimal(-1)}, {"reserved": Decimal(-1)}])
def test_a_batch_has_a_state_and_no_debts(changes: dict[str, Any], run: Run) -> None:
    _refuses(lambda: Batch.objects.update(**changes))


def test_one_run_per_batch_monitor_and_condition(run: Run) -> None:
    _refuses(lambda: Run.objects.create(batch=run.batch, monitor=run.monitor, condition=run.condition))


def test_one_whole_trace_call_per_run_and_trace(run: Run) -> None:
    _refuses(lambda: Call.objects.create(run=run, trace=_call(run).trace))


def test_one_prefix_call_per_run_trace_and_step(run: Run) -> None:
    trace = _call(run).trace
    Call.objects.create(run=run, trace=trace, step=1)
    Call.objects.create(run=run, trace=trace, step=2)
    _refuses(lambda: Call.objects.create(run=run, trace=trace, step=2))


def test_a_call_step_is_at_least_1(run: Run) -> None:
    _refuses(lambda: Call.objects.create(run=run, trace=_call(run).trace, step=0), "step is null or")


@pytest.mark.parametrize(
    "changes",
    [
        {"status": "running"},
        {"lease_until": timezone.now()},
        {"status": "done", "lease_until": timezone.now()},
    ],
)
def test_a_call_is_leased_exactly_while_it_runs(changes: dict[str, Any], run: Run) -> None:
    _refuses(lambda: run.calls.update(**changes), "leased exactly")


def test_one_attempt_per_number_counted_from_1(run: Run) -> None:
    call = _call(run)
    _attempt(call)
    _refuses(lambda: _attempt(call))
    _refuses(lambda: _attempt(call, number=0), "counted from 1")


def test_an_unfinished_attempt_is_completed_once_and_then_final(run: Run) -> None:
    attempt = _attempt(_call(run))
    Attempt.objects.update(reply="first", finished_at=timezone.now())
    for action in (lambda: Attempt.objects.update(reply="second"), lambda: attempt.delete()):
        with pytest.raises(DatabaseError, match="final row"), transaction.atomic():
            action()
    assert Attempt.objects.get().reply == "first"


def test_one_verdict_per_run_and_trace(run: Run) -> None:
    _verdict(run)
    _refuses(lambda: _verdict(run))


@pytest.mark.parametrize(
    "fields",
    [
        {"has_error": True},
        {"has_error": False, "first_error_step": 2},
        {"has_error": None},
        {"outcome": "inconsistent", "has_error": True, "first_error_step": 0},
        {"error_confidence": -1},
        {"error_confidence": 100.5},
    ],
)
def test_an_ok_verdict_says_what_it_must(fields: dict[str, Any], run: Run) -> None:
    _refuses(lambda: _verdict(run, **fields))


@pytest.mark.parametrize("outcome", Verdict.Outcome.values)
def test_no_verdict_is_changed_and_only_a_failure_gives_way(outcome: str, run: Run) -> None:
    said = outcome in ("ok", "inconsistent")
    verdict = _verdict(run, outcome=outcome, has_error=False if said else None)
    with pytest.raises(DatabaseError, match="final row"), transaction.atomic():
        Verdict.objects.update(reason="other")
    if said:
        with pytest.raises(DatabaseError, match="final row"), transaction.atomic():
            verdict.delete()
    else:
        verdict.delete()
    assert Verdict.objects.exists() is said


def test_the_settings_of_a_run_stay_when_its_monitor_changes(run: Run) -> None:
    Monitor.objects.update(model="another", max_tokens=7)
    run.refresh_from_db()
    assert (run.settings["model"], run.settings["max_tokens"]) == ("vendor/some-model", 100)


def test_a_trace_with_calls_cannot_be_deleted(run: Run) -> None:
    with pytest.raises(DatabaseError), transaction.atomic():
        Trace.objects.filter(pk=_call(run).trace_id).delete()
