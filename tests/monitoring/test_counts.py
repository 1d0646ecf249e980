"""Counts kept with runs: right in every transaction, whoever writes it; tests/monitoring/conftest.py holds them
against the rows after each test."""

from __future__ import annotations

from decimal import Decimal

import pytest
from django.apps import apps
from django.db import connection
from django.utils import timezone

from annotation.models import Study
from core.models import User
from llm.types import ProviderError, Reply
from monitoring import queries
from monitoring.engine import control, settling, supervise, sweeper
from monitoring.engine.claims import Work, claim
from monitoring.engine.readings import Result
from monitoring.migrations import _counts
from monitoring.models import Attempt, Batch, RunCount, Verdict
from tests.monitoring import counts
from tests.monitoring.build import make_batch, make_model, make_small_standard

GOOD = '{"has_error": 0, "first_error_step": null, "error_confidence": 5, "reason": "fine"}'
ME = "elsewhere/1:1:1"


def _ended(work: Work, kind: str = "") -> Result:
    if kind:
        return Result(work=work, finished_at=timezone.now(), error=ProviderError("no", kind=kind))
    reply = Reply(text=GOOD, finish_reason="stop", input_tokens=1000, output_tokens=10)
    return Result(work=work, finished_at=timezone.now(), reply=reply)


def _states(batch: Batch) -> dict[str, int]:
    [cell] = queries.cells_of(batch)
    return dict(+cell.states)


@pytest.mark.django_db
def test_they_follow_calls_through_failures_lost_workers_retries_and_the_end(
    study: Study, olga: User
) -> None:
    batch = make_batch(make_small_standard(study, n_traces=6), [make_model(study)])
    assert _states(batch) == {"pending": 6}
    works = claim(batch_id=batch.pk, owner=ME, room=4).work
    assert _states(batch) == {"pending": 2, "running": 4}
    results = [_ended(works[0]), _ended(works[1], "permanent"), _ended(works[2], "transient")]
    settling.settle(batch_id=batch.pk, owner=ME, results=results)
    [cell] = queries.cells_of(batch)
    assert _states(batch) == {"pending": 3, "running": 1, "done": 2}
    assert (dict(+cell.outcomes), cell.errors, cell.cost) == (
        {"ok": 1, "provider_error": 1},
        2,
        Decimal("0.00102"),
    )
    later = timezone.now() + timezone.timedelta(hours=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timezone, "now", lambda: later)
        assert sweeper.return_lost_calls() == 1
    assert _states(batch) == {"pending": 4, "done": 2}
    assert supervise.counts(batch) == (2, 6)
    assert control.retry_failed(batch=batch, actor=olga) == 1
    [cell] = queries.cells_of(batch)
    assert (dict(+cell.states), dict(+cell.outcomes)) == ({"pending": 5, "done": 1}, {"ok": 1})
    assert cell.errors == 3, "attempts stay, with what the abandoned one may have cost"
    assert cell.cost == sum(Attempt.objects.values_list("cost", flat=True)) > Decimal("0.00102")
    control.cancel_batch(batch=batch, actor=olga)
    assert _states(batch) == {"cancelled": 5, "done": 1}
    assert counts.kept() == counts.counted()


@pytest.mark.django_db
def test_failures_of_other_batches_are_not_gone_through(
    study: Study, django_assert_num_queries: object
) -> None:
    standard, model = make_small_standard(study, n_traces=1), make_model(study)
    failing, quiet = make_batch(standard, [model]), make_batch(standard, [model])
    [work] = claim(batch_id=failing.pk, owner=ME, room=1).work
    settling.settle(batch_id=failing.pk, owner=ME, results=[_ended(work, "permanent")])
    assert [attempt.pk for attempt in queries.progress_of(failing).errors] == [work.attempt_id]
    assert queries.progress_of(quiet).errors == []
    with django_assert_num_queries(3):  # type: ignore[operator]
        queries.progress_of(quiet)


@pytest.mark.django_db(transaction=True)
def test_what_is_there_is_counted_when_the_triggers_are_made(study: Study) -> None:
    batch = make_batch(make_small_standard(study), [make_model(study)])
    works = claim(batch_id=batch.pk, owner=ME, room=3).work
    settling.settle(batch_id=batch.pk, owner=ME, results=[_ended(works[0]), _ended(works[1], "permanent")])
    before = counts.kept()
    assert {kind for _, kind, _ in before} == {"call", "verdict", "error", "cost"}
    with connection.schema_editor() as editor:
        _counts.stop(apps, editor)
    assert not RunCount.objects.exists()
    with connection.schema_editor() as editor:
        _counts.start(apps, editor)
    assert counts.kept() == before == counts.counted()
    Verdict.objects.filter(outcome="provider_error").delete()
    assert counts.kept() == counts.counted() != before
