"""Many rows at once: the same rows and the same errors on both databases."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.utils import DataError

from annotation.models import Label, Question, ReferenceAnswer, Study, Trace
from core import bulk
from tests.build import make_question, make_trace

pytestmark = pytest.mark.django_db

ODD = "tab\there, \\n and \\N, a \\. line\r\n\\.\n“quotes”, ${}^{2}$, \U0001d6fc"


def test_rows_come_back_as_they_went(study: Study) -> None:
    questions = [Question(study=study, external_id=f"q{number}", statement=ODD) for number in range(3)]
    answers = [ReferenceAnswer(question=question, text=ODD, version=1) for question in questions]
    traces = [
        Trace(
            study=study,
            question=question,
            response_label="Response A",
            cut=Trace.Cut.LISTED,
            steps=[ODD, '{"a": [1, null]}'],
            n_steps=2,
            sha256="0" * 64,
        )
        for question in questions
    ]
    labels = [
        Label(trace=trace, arm=Label.Arm.HUMAN, labeller="ana", final_correct=number == 1, source="test")
        for number, trace in enumerate(traces)
    ]
    for rows in (questions, answers, traces, labels):
        bulk.insert(rows)
    assert len({trace.pk for trace in traces}) == 3
    for trace, question in zip(traces, questions, strict=True):
        again = Trace.objects.get(pk=trace.pk)
        assert (again.question_id, again.cut, again.steps) == (question.pk, "listed", trace.steps)
        assert again.token == trace.token
        assert again.created_at == trace.created_at
        assert again.question.statement == ODD
    assert set(Label.objects.values_list("arm", "final_correct", "first_error_step", "comment")) == {
        ("human", True, None, ""),
        ("human", False, None, ""),
    }
    make_trace(questions[0])  # the keys drawn are not given out again


def test_rows_may_refer_to_rows_inserted_just_before(study: Study) -> None:
    trace = make_trace(make_question(study))
    first = Label(trace=trace, arm="human", labeller="ana", final_correct=True, source="t")
    second = Label(
        trace=trace,
        arm="human",
        labeller="ana",
        final_correct=False,
        source="t",
        revision=2,
        supersedes=first,
    )
    bulk.insert([first])
    bulk.insert([second])
    assert Label.objects.get(revision=2).supersedes == first


def test_an_object_that_is_not_inserted_yet_is_refused(study: Study) -> None:
    question = Question(study=study, external_id="q")
    with pytest.raises(ValueError, match=r"saved|unsaved"):
        bulk.insert([ReferenceAnswer(question=question, text="1")])


def test_the_database_refuses_the_same_rows(study: Study) -> None:
    trace = make_trace(make_question(study))
    for bad in (
        Label(trace=trace, arm="human", labeller="ana", final_correct=True, first_error_step=0, source="t"),
        Label(trace=trace, arm="other", labeller="ana", final_correct=True, source="t"),
        Label(trace_id=0, arm="human", labeller="ana", final_correct=True, source="t"),
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            bulk.insert([bad])
            connection.check_constraints()
        assert Label.objects.count() == 0
        assert bad.pk is None or connection.vendor == "sqlite" or bad.trace_id == 0
    twice = [Label(trace=trace, arm="human", labeller="a", final_correct=True, source="t") for _ in "12"]
    with pytest.raises(IntegrityError), transaction.atomic():
        bulk.insert(twice)
    assert Label.objects.count() == 0


def test_nothing_is_inserted_where_what_runs_meanwhile_fails(study: Study) -> None:
    rows = [Question(study=study, external_id=f"q{number}") for number in range(3)]
    with pytest.raises(ZeroDivisionError), bulk.inserting(rows):
        _ = 1 / 0
    assert not Question.objects.exists()


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite checks references at the end alone")
def test_references_are_checked_with_the_rows_that_have_them(study: Study) -> None:
    bulk.check_references_at_once()
    with pytest.raises(IntegrityError), transaction.atomic():
        bulk.insert([Question(study_id=study.pk + 1000, external_id="q")])


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite does not limit the length of a text")
def test_a_text_that_is_too_long_is_a_data_error(study: Study) -> None:
    with pytest.raises(DataError), transaction.atomic():
        bulk.insert([Question(study=study, external_id="q" * 101)])


def test_nothing_is_nothing() -> None:
    bulk.insert([])
