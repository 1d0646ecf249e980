"""A driver takes a batch from its launch to its verdicts."""

from __future__ import annotations

import json

import pytest

from annotation.models import Study
from core.models import AuditEntry
from monitoring.engine import identity
from monitoring.engine.worker import drive
from monitoring.models import Attempt, Batch, Call, Condition, Monitor, Run, Verdict
from tests.monitoring.build import make_batch, make_scripted, make_small_standard

pytestmark = pytest.mark.django_db(transaction=True)


def _drive(batch: Batch) -> None:
    drive(batch_id=batch.pk, owner=identity.owner())
    batch.refresh_from_db()


def _offline(study: Study, *slugs: str) -> list[Monitor]:
    return [Monitor(study=study, slug=slug, provider=slug) for slug in slugs]


def test_offline_monitors_leave_verdicts_attempts_and_a_finished_batch(study: Study) -> None:
    standard = make_small_standard(study)
    batch = make_batch(
        standard,
        _offline(study, "always", "never", "oracle", "random", "rules"),
        conditions=[Condition.BLIND, Condition.CERT],
    )
    _drive(batch)
    assert batch.status == Batch.Status.FINISHED
    assert Verdict.objects.filter(run__batch=batch).count() == 5 * 2 * 6
    assert Attempt.objects.filter(call__run__batch=batch, finished_at__isnull=False).count() == 60
    assert not Call.objects.exclude(status=Call.Status.DONE).exists()
    assert not Run.objects.exclude(status=Run.Status.FINISHED).exists()
    actions = list(AuditEntry.objects.values_list("action", flat=True))
    assert actions == ["batch launched", "batch finished"]


def test_the_oracle_flags_exactly_the_wrong_answers_without_a_step(study: Study) -> None:
    standard = make_small_standard(study)
    batch = make_batch(standard, _offline(study, "oracle"))
    _drive(batch)
    for label in standard.labels.all():
        verdict = Verdict.objects.get(run__batch=batch, trace=label.trace)
        assert verdict.has_error is (not label.final_correct)
        assert verdict.first_error_step is None
        assert verdict.outcome == (Verdict.Outcome.OK if label.final_correct else "inconsistent")


def test_a_scripted_reply_becomes_its_typed_outcome(study: Study) -> None:
    standard = make_small_standard(study, n_traces=3)
    good = json.dumps({"has_error": 1, "first_error_step": 3, "error_confidence": 70, "reason": "sign"})
    batch = make_batch(standard, [make_scripted(study, replies=[good, "no idea", ""], repeat=False)])
    _drive(batch)
    assert sorted(Verdict.objects.values_list("outcome", flat=True)) == ["invalid", "no_response", "ok"]
    verdict = Verdict.objects.get(outcome="ok")
    assert (verdict.has_error, verdict.first_error_step, verdict.error_confidence) == (True, 3, 70)
    assert verdict.attempt is not None and verdict.attempt.reply == good
    assert [m["role"] for m in verdict.attempt.messages] == ["system", "user"]


def test_driving_twice_changes_nothing(study: Study) -> None:
    standard = make_small_standard(study)
    batch = make_batch(standard, _offline(study, "always"))
    _drive(batch)
    before = list(Verdict.objects.values_list("pk", "created_at"))
    _drive(batch)
    assert list(Verdict.objects.values_list("pk", "created_at")) == before
    assert Attempt.objects.count() == 6
