"""Handing out traces: to each person their own order, to nobody a trace that others are about to fill."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, connections, transaction
from django.utils import timezone

from annotation import masking, queries
from annotation.models import Question, Reservation, Role, Skip, Study, Trace
from annotation.services.labels import submit_label
from annotation.services.queue import InvalidSkip, claim_next, skip_trace
from core.models import AuditEntry, User
from tests.annotation.build import make_traces
from tests.build import make_label, make_person, make_question, make_trace

pytestmark = pytest.mark.django_db


def work_through(study: Study, person: User) -> list[str]:
    """Label everything the queue hands out; return the tokens in order."""
    tokens = []
    while (trace := claim_next(study=study, person=person)) is not None:
        tokens.append(trace.token)
        submit_label(trace=trace, person=person, final_correct=True, first_error_step=None)
        assert len(tokens) < 200
    return tokens


def test_it_hands_out_every_trace_once(study: Study, ana: User) -> None:
    traces = make_traces(study, 7)
    tokens = work_through(study, ana)
    assert sorted(tokens) == sorted(trace.token for trace in traces)


def test_each_person_has_an_order_of_their_own_and_keeps_it(study: Study, ana: User) -> None:
    study.overlap = 5
    study.save(update_fields=["overlap"])
    make_traces(study, 12)
    bea = make_person("bea", study=study, roles=[Role.ANNOTATOR])
    first = claim_next(study=study, person=ana)
    assert claim_next(study=study, person=ana) == first
    orders = [work_through(study, ana), work_through(study, bea)]
    assert orders[0] != orders[1]
    assert sorted(orders[0]) == sorted(orders[1])


def test_it_resumes_what_the_person_holds(study: Study, ana: User) -> None:
    make_traces(study, 3)
    held = claim_next(study=study, person=ana)
    Reservation.objects.update(expires_at=timezone.now() + timedelta(minutes=1))
    assert claim_next(study=study, person=ana) == held
    assert Reservation.objects.get().expires_at > timezone.now() + timedelta(minutes=60)


def test_a_trace_that_another_holds_is_not_handed_out_until_the_hold_ends(
    study: Study, ana: User, adam: User
) -> None:
    make_traces(study, 1)
    held = claim_next(study=study, person=adam)
    assert claim_next(study=study, person=ana) is None
    state = queries.progress(study, ana)
    assert (state.left, state.held_elsewhere) == (0, 1)
    assert state.free_at is not None
    Reservation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert claim_next(study=study, person=ana) == held


def test_overlap_lets_as_many_people_in_as_labels_are_wanted(
    study: Study, ana: User, adam: User, olga: User
) -> None:
    study.overlap = 2
    study.save(update_fields=["overlap"])
    (trace,) = make_traces(study, 1)
    assert claim_next(study=study, person=ana) == trace
    submit_label(trace=trace, person=adam, final_correct=True, first_error_step=None)
    assert claim_next(study=study, person=olga) is None
    assert queries.progress(study, olga).held_elsewhere == 1


def test_labels_of_the_other_arm_fill_nothing(study: Study, ana: User) -> None:
    (trace,) = make_traces(study, 1)
    make_label(trace, arm="debate", labeller="debate")
    assert claim_next(study=study, person=ana) == trace


def test_excluded_questions_and_traces_without_text_are_never_handed_out(study: Study, ana: User) -> None:
    excluded = make_question(study, status=Question.Status.EXCLUDED, exclusion_reason="no answer")
    make_trace(excluded)
    make_trace(make_question(study), cut=Trace.Cut.TEXT_FREE)
    assert claim_next(study=study, person=ana) is None
    assert queries.progress(study, ana).total == 0


def test_a_skipped_trace_goes_to_others_only(study: Study, ana: User, adam: User) -> None:
    (trace,) = make_traces(study, 1)
    assert claim_next(study=study, person=ana) == trace
    for _ in range(2):
        skip_trace(trace=trace, person=ana, reason="  not my\nfield ")
    assert Skip.objects.get().reason == "not my field"
    assert AuditEntry.objects.filter(action="trace skipped").count() == 1
    assert claim_next(study=study, person=ana) is None
    assert claim_next(study=study, person=adam) == trace


def test_a_skip_needs_its_reason(study: Study, ana: User) -> None:
    (trace,) = make_traces(study, 1)
    with pytest.raises(InvalidSkip):
        skip_trace(trace=trace, person=ana, reason="  ")
    with pytest.raises(InvalidSkip, match="NUL"):
        skip_trace(trace=trace, person=ana, reason="a\0b")


def test_progress_counts_people_and_study_in_one_query(
    study: Study, ana: User, adam: User, django_assert_num_queries: object
) -> None:
    traces = make_traces(study, 6)
    submit_label(trace=traces[0], person=ana, final_correct=True, first_error_step=None)
    submit_label(trace=traces[1], person=adam, final_correct=True, first_error_step=None)
    skip_trace(trace=traces[2], person=ana, reason="no")
    Reservation.objects.create(trace=traces[3], person=adam, expires_at=timezone.now() + timedelta(hours=1))
    with django_assert_num_queries(1):  # type: ignore[operator]
        state = queries.progress(study, ana)
    assert (state.total, state.complete, state.labelled, state.mine) == (6, 2, 2, 1)
    assert (state.skipped, state.left, state.held_elsewhere) == (1, 2, 1)


def test_letters_differ_between_people_and_questions_and_stay(study: Study, ana: User) -> None:
    tokens = [f"t{k}" for k in range(5)]
    seen = {tuple(masking.letters(study, ana, question, tokens).items()) for question in range(30)}
    assert len(seen) > 10
    assert masking.letters(study, ana, 1, tokens) == masking.letters(study, ana, 1, reversed(tokens))
    assert sorted(masking.letters(study, ana, 1, tokens).values()) == list("ABCDE")
    others = [make_person(study=study) for _ in range(8)]
    assert len({tuple(masking.letters(study, person, 1, tokens).items()) for person in others}) > 1


def test_the_letter_tells_nothing_of_the_stored_label(study: Study, ana: User) -> None:
    """Over many questions each stored place gets each letter about equally often."""
    first = sum(masking.letters(study, ana, question, ["a", "b", "c"])["a"] == "A" for question in range(900))
    assert 240 < first < 360  # 300 expected, standard deviation 14


@pytest.mark.django_db(transaction=True)
def test_simultaneous_claims_give_different_traces(study: Study) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("threads share the one connection of a SQLite in memory; runs on PostgreSQL")
    people = [make_person(study=study, roles=[Role.ANNOTATOR]) for _ in range(6)]
    make_traces(study, 6)
    found: list[str] = []
    barrier = threading.Barrier(len(people))

    def work(person: User) -> None:
        try:
            barrier.wait(timeout=20)
            trace = claim_next(study=study, person=person)
            found.append(trace.token if trace else "none")
        finally:
            connections.close_all()

    threads = [threading.Thread(target=work, args=(person,)) for person in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert len(found) == 6
    assert len(set(found) - {"none"}) == 6


@pytest.mark.parametrize("reasons", [[""], ["a", "b"]])
def test_the_database_refuses_a_skip_without_reason_and_a_second_one(
    study: Study, ana: User, reasons: list[str]
) -> None:
    (trace,) = make_traces(study, 1)
    with pytest.raises(IntegrityError), transaction.atomic():
        for reason in reasons:
            Skip.objects.create(trace=trace, person=ana, reason=reason)
