"""Submitting: one label for each change, whatever the clicks; nothing of another tab is overwritten."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, connections
from django.utils import timezone

from annotation.models import Draft, Label, Reservation, Study, Trace
from annotation.services.guideline import ensure_guideline, first_guideline
from annotation.services.labels import InvalidLabel, submit_label
from annotation.services.queue import claim_next
from core.errors import Conflict
from core.models import AuditEntry, User
from core.texts import error_definition
from tests.build import make_label, make_question, make_trace

pytestmark = pytest.mark.django_db


@pytest.fixture
def trace(study: Study) -> Trace:
    return make_trace(make_question(study), n_steps=4)


def submit(trace: Trace, person: User, **changes: Any) -> Label:
    return submit_label(
        **{
            "trace": trace,
            "person": person,
            "final_correct": True,
            "first_error_step": 2,
            "comment": "sign",
            "expected_revision": 0,
            **changes,
        }
    )


def test_a_label_records_who_judged_what_under_which_guideline(trace: Trace, ana: User) -> None:
    label = submit(trace, ana, active_seconds=90)
    assert (label.labeller, label.person, label.arm, label.source) == ("ana", ana, "human", "desk")
    assert (label.final_correct, label.first_error_step, label.comment) == (True, 2, "sign")
    assert (label.revision, label.active_seconds) == (1, 90)
    assert label.guideline == ensure_guideline(study=trace.study)
    entry = AuditEntry.objects.get(action="label submitted")
    assert entry.actor == ana
    assert entry.payload["first_error_step"] == 2


def test_a_double_submission_is_one_label(trace: Trace, ana: User) -> None:
    first = submit(trace, ana)
    again = submit(trace, ana)
    assert again == first
    assert Label.objects.count() == 1
    assert AuditEntry.objects.filter(action__startswith="label").count() == 1


def test_resubmitting_unchanged_is_no_change(trace: Trace, ana: User) -> None:
    submit(trace, ana)
    assert submit(trace, ana, expected_revision=1).revision == 1


def test_a_change_is_a_new_row_that_supersedes(trace: Trace, ana: User) -> None:
    first = submit(trace, ana)
    second = submit(trace, ana, first_error_step=None, expected_revision=1)
    assert (second.revision, second.supersedes) == (2, first)
    first.refresh_from_db()
    assert first.first_error_step == 2
    assert AuditEntry.objects.filter(action="label revised").count() == 1


def test_another_tab_is_told_and_overwrites_nothing(trace: Trace, ana: User) -> None:
    submit(trace, ana)
    with pytest.raises(Conflict, match="another tab"):
        submit(trace, ana, first_error_step=3, expected_revision=0)
    assert Label.objects.get().first_error_step == 2


@pytest.mark.parametrize("step", [0, -1, 5, 10**9])
def test_it_refuses_a_step_outside_the_trace(trace: Trace, ana: User, step: int) -> None:
    with pytest.raises(InvalidLabel, match="1 to 4"):
        submit(trace, ana, first_error_step=step)
    assert not Label.objects.exists()


def test_it_refuses_a_trace_without_text(study: Study, ana: User) -> None:
    trace = make_trace(make_question(study), cut=Trace.Cut.TEXT_FREE)
    bare = Trace(study=study, question=trace.question, steps=[], n_steps=5, cut=Trace.Cut.TEXT_FREE)
    with pytest.raises(InvalidLabel, match="without its text"):
        submit(bare, ana)


def test_it_clears_the_draft_and_the_hold(trace: Trace, ana: User) -> None:
    claim_next(study=trace.study, person=ana)
    Draft.objects.create(trace=trace, person=ana, content={"based_on": 0})
    submit(trace, ana)
    assert not Draft.objects.exists()
    assert not Reservation.objects.exists()


def test_two_people_label_one_trace_each_for_themselves(trace: Trace, ana: User, adam: User) -> None:
    submit(trace, ana)
    submit(trace, adam, first_error_step=3)
    assert list(Label.objects.order_by("pk").values_list("labeller", "revision")) == [("ana", 1), ("adam", 1)]


def test_the_other_arm_is_left_alone(trace: Trace, ana: User) -> None:
    make_label(trace, arm=Label.Arm.DEBATE, labeller="ana")
    assert submit(trace, ana).revision == 1


def test_active_time_is_never_negative_nor_longer_than_a_sitting(trace: Trace, ana: User) -> None:
    assert submit(trace, ana, active_seconds=-5).active_seconds == 0
    other = make_trace(trace.question, n_steps=4)
    assert submit(other, ana, active_seconds=10**9).active_seconds == 8 * 3600


def test_a_revision_has_no_more_active_time_than_passed_since_the_one_before(trace: Trace, ana: User) -> None:
    first = make_label(
        trace, person=ana, active_seconds=300, created_at=timezone.now() - timedelta(seconds=100)
    )
    # The page came back from the browser's memory and counts on from the 300 seconds it had sent.
    again = submit(trace, ana, active_seconds=340, expected_revision=1)
    assert again.supersedes == first
    assert again.active_seconds is not None
    assert 100 <= again.active_seconds <= 110


def test_the_guideline_quotes_the_one_error_definition(study: Study) -> None:
    assert error_definition() in ensure_guideline(study=study).text
    assert ensure_guideline(study=study).text == first_guideline()
    assert study.guideline_versions.count() == 1


@pytest.mark.django_db(transaction=True)
def test_simultaneous_double_submits_are_one_label(trace: Trace, ana: User) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("threads share the one connection of a SQLite in memory; runs on PostgreSQL")
    ensure_guideline(study=trace.study)
    found: list[Any] = []
    barrier = threading.Barrier(6)

    def work() -> None:
        barrier.wait(timeout=20)
        try:
            found.append(submit(trace, ana).pk)
        except Exception as error:
            found.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert Label.objects.count() == 1
    assert found == [Label.objects.get().pk] * 6


@pytest.mark.django_db(transaction=True)
def test_of_simultaneous_different_submits_one_stands_and_the_rest_are_told(trace: Trace, ana: User) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("threads share the one connection of a SQLite in memory; runs on PostgreSQL")
    ensure_guideline(study=trace.study)
    found: list[str] = []
    barrier = threading.Barrier(4)

    def work(step: int) -> None:
        barrier.wait(timeout=20)
        try:
            submit(trace, ana, first_error_step=step)
            found.append("label")
        except Conflict:
            found.append("conflict")
        finally:
            connections.close_all()

    threads = [threading.Thread(target=work, args=(step,)) for step in (1, 2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert Label.objects.count() == 1
    assert sorted(found) == ["conflict", "conflict", "conflict", "label"]
