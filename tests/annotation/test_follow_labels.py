"""Higher apps hear of changed labels, inside the transaction of the change."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from adjudication.models import Dispute
from annotation import hooks
from annotation.imports.labels import import_labels
from annotation.models import Question, Study
from annotation.services.labels import submit_label
from core.models import User
from tests.build import make_label, make_question, make_trace

pytestmark = pytest.mark.django_db


def test_a_submitted_label_opens_and_withdraws_its_dispute(study: Study, ana: User) -> None:
    trace = make_trace(make_question(study))
    make_label(trace, arm="debate", labeller="debate", first_error_step=3)
    submit_label(trace=trace, person=ana, final_correct=True, first_error_step=None)
    assert Dispute.objects.get().kinds == ["presence"]
    submit_label(trace=trace, person=ana, final_correct=True, first_error_step=3, expected_revision=1)
    assert Dispute.objects.get().status == "withdrawn"


def test_imported_labels_open_disputes(study: Study, ana: User, tmp_path: Path) -> None:
    trace = make_trace(make_question(study))
    make_label(trace, arm="human", labeller="ana", first_error_step=3)
    path = tmp_path / "labels.jsonl"
    row = {"question_id": trace.question.external_id, "response_label": trace.response_label}
    path.write_text(json.dumps({**row, "final_correct": 0, "first_error_step": 3}), encoding="utf-8")
    import_labels(path=path, study_slug=study.slug, arm="debate", dry_run=True)
    assert not Dispute.objects.exists()
    import_labels(path=path, study_slug=study.slug, arm="debate")
    assert Dispute.objects.get().kinds == ["answer"]


def test_a_listener_that_fails_takes_the_label_with_it(
    study: Study, ana: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(study: Study, question: Question | None, actor: User | None) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(hooks, "_listeners", [fail])
    trace = make_trace(make_question(study))
    with pytest.raises(RuntimeError):
        submit_label(trace=trace, person=ana, final_correct=True, first_error_step=None)
    assert not trace.labels.exists()


def test_a_listener_is_registered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooks, "_listeners", [])
    calls = []

    def listen(study: Study, question: Question | None, actor: User | None) -> None:
        calls.append((study, question, actor))

    hooks.on_labels_changed(listen)
    hooks.on_labels_changed(listen)
    study = Study()
    hooks.labels_changed(study=study)
    assert calls == [(study, None, None)]


def test_following_a_label_costs_the_same_in_a_large_study(study: Study, ana: User) -> None:
    def cost() -> int:
        trace = make_trace(make_question(study))
        make_label(trace, arm="debate", labeller="debate", first_error_step=3)
        with CaptureQueriesContext(connection) as queries:
            submit_label(trace=trace, person=ana, final_correct=True, first_error_step=None)
        return len(queries)

    cost()
    small = cost()
    for _ in range(30):
        make_label(make_trace(make_question(study)), arm="debate", labeller="debate")
    assert cost() == small
