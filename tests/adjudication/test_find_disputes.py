"""Disputes follow the current labels of both arms."""

from __future__ import annotations

from typing import Any

import pytest

from adjudication import queries
from adjudication.models import Dispute
from adjudication.services.disputes import recompute_disputes
from annotation.models import Label, Question, Study
from core.models import AuditEntry, User
from tests.adjudication.build import DEBATE, HUMAN, both, label_trace, make_dispute, settle
from tests.build import make_label, make_question, make_study, make_trace

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("human", "debate", "kinds"),
    [
        ((True, None), (True, None), None),
        ((True, 3), (True, 3), None),
        ((True, None), (False, None), ["answer"]),
        ((True, None), (True, 3), ["presence"]),
        ((True, 2), (True, 3), ["step"]),
        ((True, 2), (False, 3), ["answer", "step"]),
        ((True, None), (False, 3), ["answer", "presence"]),
    ],
)
def test_the_kinds_say_how_the_labels_differ(
    study: Study, human: Any, debate: Any, kinds: list[str] | None
) -> None:
    trace = make_trace(make_question(study))
    both(trace, human, debate)
    recompute_disputes(study=study)
    found = [dispute.kinds for dispute in Dispute.objects.filter(trace=trace)]
    assert found == ([] if kinds is None else [kinds])


def test_people_who_disagree_among_themselves_are_a_dispute_of_all_kinds(study: Study) -> None:
    trace = make_trace(make_question(study))
    label_trace(trace, [(HUMAN, "ana", True, None), (HUMAN, "ben", True, 2), (HUMAN, "cai", False, 4)])
    summary = recompute_disputes(study=study)
    assert Dispute.objects.get().kinds == ["answer", "presence", "step"]
    assert (summary.opened, summary.human_only, summary.agreeing) == (1, 1, 0)


def test_only_current_labels_count(study: Study) -> None:
    trace = make_trace(make_question(study))
    both(trace, (True, 2), (True, 3))
    old = Label.objects.get(arm=HUMAN)
    make_label(trace, first_error_step=3, revision=2, supersedes=old)
    assert recompute_disputes(study=study).opened == 0
    assert not Dispute.objects.exists()


def test_an_open_dispute_is_withdrawn_when_its_labels_agree_and_opened_anew_when_they_differ(
    study: Study,
) -> None:
    dispute = make_dispute(study, human=(True, 2), debate=(True, 3))
    first = Label.objects.get(arm=HUMAN)
    second = make_label(dispute.trace, first_error_step=3, revision=2, supersedes=first)
    assert recompute_disputes(study=study).withdrawn == 1
    make_label(dispute.trace, first_error_step=5, revision=3, supersedes=second)
    assert recompute_disputes(study=study).opened == 1
    assert sorted(Dispute.objects.values_list("status", flat=True)) == ["open", "withdrawn"]


def test_the_kinds_of_an_open_dispute_move_with_the_labels(study: Study) -> None:
    dispute = make_dispute(study, human=(True, 2), debate=(True, 3))
    first = Label.objects.get(arm=HUMAN)
    make_label(dispute.trace, final_correct=False, first_error_step=None, revision=2, supersedes=first)
    assert recompute_disputes(study=study).changed == 1
    dispute.refresh_from_db()
    assert dispute.kinds == ["answer", "presence"]


def test_a_decided_dispute_is_never_touched(study: Study, adam: User) -> None:
    dispute = make_dispute(study, human=(True, 2), debate=(True, 3))
    settle(dispute, adam)
    first = Label.objects.get(arm=HUMAN)
    make_label(dispute.trace, first_error_step=3, revision=2, supersedes=first)
    summary = recompute_disputes(study=study)
    dispute.refresh_from_db()
    assert dispute.status == "decided"
    assert (summary.opened, summary.changed, summary.withdrawn, summary.decided) == (0, 0, 0, 1)


def test_excluded_questions_have_no_disputes(study: Study) -> None:
    dispute = make_dispute(study)
    question = dispute.trace.question
    question.status, question.exclusion_reason = Question.Status.EXCLUDED, "no single answer"
    question.save()
    assert recompute_disputes(study=study).withdrawn == 1
    assert recompute_disputes(study=study).opened == 0


def test_traces_of_one_arm_are_counted_and_listed(study: Study) -> None:
    question = make_question(study, external_id="q-one")
    for label, arm in (("Response A", HUMAN), ("Response B", DEBATE)):
        make_label(make_trace(question, response_label=label), arm=arm, labeller="x")
    make_trace(question, response_label="Response C")
    summary = recompute_disputes(study=study)
    assert (summary.human_only, summary.debate_only, summary.unlabelled) == (1, 1, 1)
    assert [(one.response_label, one.arm) for one in queries.one_arm_traces(study)] == [
        ("Response A", "human"),
        ("Response B", "debate"),
    ]


def test_another_study_is_left_alone(study: Study) -> None:
    other = make_study()
    both(make_trace(make_question(other)), (True, 1), (True, 2))
    assert recompute_disputes(study=study).opened == 0
    assert not Dispute.objects.exists()


def test_recomputing_twice_changes_nothing_and_leaves_one_audit_entry(study: Study) -> None:
    make_dispute(study)
    before = list(Dispute.objects.values())
    recompute_disputes(study=study)
    assert list(Dispute.objects.values()) == before
    assert AuditEntry.objects.filter(action="disputes recomputed").count() == 1


@pytest.mark.parametrize("size", [3, 40])
def test_the_number_of_queries_does_not_grow_with_the_study(
    study: Study, size: int, django_assert_max_num_queries: Any
) -> None:
    question = make_question(study)
    for _ in range(size):
        both(make_trace(question), (True, 2), (False, 3))
    with django_assert_max_num_queries(17):
        assert recompute_disputes(study=study).opened == size
