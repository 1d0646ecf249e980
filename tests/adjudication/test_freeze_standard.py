"""A standard says of each trace what its labels and decisions settle, and where that came from."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from adjudication import queries
from adjudication.models import Dispute, ReferenceStandard, StandardLabel
from adjudication.services.assembly import freeze_preconditions
from adjudication.services.decisions import KeyCorrection, undo_decision
from adjudication.services.disputes import recompute_disputes
from adjudication.services.patches import Change, patch_standard
from adjudication.services.standards import FreezeRefused, content_sha256, freeze_standard
from annotation.models import GuidelineVersion, Label, Question, Study, Trace
from core import audit
from core.models import AuditEntry, User
from tests.adjudication.build import DEBATE, HUMAN, both, label_trace, make_dispute, make_standard, settle
from tests.build import make_label, make_question, make_study, make_trace

pytestmark = pytest.mark.django_db


def _label(trace: Trace) -> StandardLabel:
    return StandardLabel.objects.get(trace=trace)


@pytest.mark.parametrize(
    ("said", "provenance"),
    [
        ([(HUMAN, "ana", True, 2), (DEBATE, "debate", True, 2)], "both_arms_agree"),
        ([(HUMAN, "ana", True, 2)], "human_only"),
        ([(HUMAN, "ana", True, 2), (HUMAN, "ben", True, 2)], "human_only"),
        ([(DEBATE, "debate", True, 2)], "debate_only"),
    ],
)
def test_labels_that_agree_are_frozen_with_their_source(study: Study, said: Any, provenance: str) -> None:
    trace = make_trace(make_question(study))
    label_trace(trace, said)
    freeze_standard(study=study)
    label = _label(trace)
    assert (label.status, label.final_correct, label.first_error_step) == ("ready", True, 2)
    assert (label.provenance, label.cell) == (provenance, "critical")


def test_a_decision_is_frozen_beside_what_each_arm_had_said(study: Study, adam: User) -> None:
    dispute = make_dispute(study, human=(True, 2), debate=(False, 4))
    settle(
        dispute,
        adam,
        choice="both",
        final_correct=False,
        first_error_step=3,
        first_error_step_min=2,
        first_error_step_max=4,
        key_correction=KeyCorrection("43", "a factor"),
    )
    freeze_standard(study=study)
    label = _label(dispute.trace)
    assert (label.provenance, label.cell) == ("adjudicated", "wrong")
    assert (label.first_error_step, label.first_error_step_min, label.first_error_step_max) == (3, 2, 4)
    assert (label.human_final_correct, label.human_first_error_step) == (True, 2)
    assert (label.debate_final_correct, label.debate_first_error_step) == (False, 4)
    assert label.reference_answer is not None
    assert label.reference_answer.version == 2


def test_people_who_differ_are_kept_by_the_first_name(study: Study, adam: User) -> None:
    trace = make_trace(make_question(study))
    label_trace(trace, [(HUMAN, "zoe", True, 5), (HUMAN, "ben", True, 3), (HUMAN, "cai", True, 5)])
    recompute_disputes(study=study)
    settle(Dispute.objects.get(trace=trace), adam)
    freeze_standard(study=study)
    assert _label(trace).human_first_error_step == 3


def test_open_disputes_block_and_say_how_many(study: Study) -> None:
    make_dispute(study)
    both(make_trace(make_question(study)), (True, None), (True, None))
    with pytest.raises(FreezeRefused, match="1 open disputes"):
        freeze_standard(study=study)
    assert not ReferenceStandard.objects.exists()


def test_a_difference_nobody_looked_for_yet_blocks_too_and_is_found(study: Study) -> None:
    both(make_trace(make_question(study)), (True, 1), (True, 2))
    both(make_trace(make_question(study)), (True, 1), (True, 1))
    with pytest.raises(FreezeRefused):
        freeze_standard(study=study)
    assert Dispute.objects.filter(status="open").count() == 1


def test_open_disputes_may_stay_as_unresolved(study: Study) -> None:
    dispute = make_dispute(study)
    both(make_trace(make_question(study)), (True, None), (True, None))
    frozen = freeze_standard(study=study, allow_open=True)
    label = _label(dispute.trace)
    assert (label.status, label.status_reason, label.cell) == (
        "unresolved",
        "open dispute: step",
        None,
    )
    assert queries.card_of(frozen.standard).ready == 1


def test_nothing_settled_is_nothing_to_freeze(study: Study) -> None:
    make_trace(make_question(study))
    with pytest.raises(FreezeRefused, match="no trace has a settled label"):
        freeze_standard(study=study, allow_open=True)


def test_unlabelled_and_excluded_traces_say_why(study: Study) -> None:
    unlabelled = make_trace(make_question(study))
    gone = make_trace(make_question(study, status="excluded", exclusion_reason="needs its image"))
    both(gone, (True, 1), (True, 2))
    make_standard(study)
    assert (_label(unlabelled).status, _label(unlabelled).status_reason) == ("unresolved", "no label yet")
    label = _label(gone)
    assert (label.status, label.status_reason) == ("excluded", "needs its image")
    assert (label.provenance, label.human_first_error_step) == ("question_excluded", 1)


def test_the_preconditions_count_what_a_freeze_would_find(study: Study, adam: User) -> None:
    make_dispute(study)
    make_trace(make_question(study))
    label_trace(make_trace(make_question(study)), [(HUMAN, "ana", False, None)])
    label_trace(make_trace(make_question(study)), [(DEBATE, "debate", True, 9)])
    make_trace(make_question(study, status="excluded", exclusion_reason="x"))
    found = {one.name: (one.count, one.blocks) for one in freeze_preconditions(study)}
    assert found == {
        "open disputes": (1, True),
        "steps past the end": (1, True),
        "unlabelled traces": (1, False),
        "one arm only": (2, False),
        "excluded": (1, False),
        "second look": (1, False),
    }


def test_labels_older_than_a_corrected_key_are_pointed_out(study: Study, adam: User) -> None:
    question = make_question(study)
    both(make_trace(question), (True, None), (True, None))
    dispute = make_dispute(study, question=question)
    settle(dispute, adam, key_correction=KeyCorrection("43", "a factor"))
    found = {one.name: one.count for one in freeze_preconditions(study)}
    assert found["key corrected since"] == 1


def test_a_wrong_answer_without_an_error_is_clean_and_listed(study: Study) -> None:
    trace = make_trace(make_question(study))
    both(trace, (False, None), (False, None))
    frozen = freeze_standard(study=study)
    assert _label(trace).cell == "clean"
    card = queries.card_of(frozen.standard)
    assert (card.cells["clean"], card.second_look) == (1, 1)


def test_freezing_again_without_a_change_makes_no_new_version(study: Study, adam: User) -> None:
    settle(make_dispute(study), adam)
    first = freeze_standard(study=study)
    again = freeze_standard(study=study, note="another note")
    assert (first.created, again.created) == (True, False)
    assert again.standard == first.standard
    assert ReferenceStandard.objects.count() == 1
    assert AuditEntry.objects.filter(action="standard frozen").count() == 1


def test_a_changed_label_makes_the_next_version(study: Study) -> None:
    trace = make_trace(make_question(study))
    both(trace, (True, None), (True, None))
    freeze_standard(study=study)
    for label in Label.objects.all():
        make_label(
            trace,
            arm=label.arm,
            labeller=label.labeller,
            first_error_step=1,
            revision=2,
            supersedes=label,
        )
    assert freeze_standard(study=study).standard.version == 2


def _same_study(slug: str, order: list[int]) -> Study:
    """Build the same content in another order, so under other keys, names of studies and times."""
    study = make_study(slug=slug)
    GuidelineVersion.objects.create(study=study, version=1, text="guideline")
    for number in order:
        question = make_question(study, external_id=f"q{number}", answer=f"{number} N")
        for letter in ("A", "B") if number % 2 else ("B", "A"):
            trace = make_trace(question, response_label=f"Response {letter}")
            both(trace, (True, number), (True, number))
    return study


def test_the_same_content_has_the_same_hash_whatever_its_keys(db: None) -> None:
    first = freeze_standard(study=_same_study("one", [1, 2, 3, 4])).standard
    second = freeze_standard(study=_same_study("two", [4, 2, 3, 1])).standard
    assert first.sha256 == second.sha256
    # Golden: equal on SQLite and PostgreSQL, computed by this test on SQLite when the scheme was fixed.
    assert first.sha256 == GOLDEN


GOLDEN = "036fe11e0774983edf2a8cfd35595c2aab50537ba91f26c95ec2e99caa79f428"


def test_a_stored_standard_still_has_its_hash(study: Study, adam: User) -> None:
    settle(make_dispute(study), adam)
    make_trace(make_question(study, status="excluded", exclusion_reason="x"))
    standard = freeze_standard(study=study).standard
    assert content_sha256(standard) == standard.sha256


def test_a_label_changed_behind_the_guards_is_found_by_the_audit(study: Study, adam: User) -> None:
    settle(make_dispute(study), adam)
    standard = freeze_standard(study=study).standard
    assert list(audit.verify(study.slug)) == []
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute("ALTER TABLE adjudication_standardlabel DISABLE TRIGGER USER")
        else:
            cursor.execute("DROP TRIGGER adjudication_standardlabel_final_no_update")
        cursor.execute(
            "UPDATE adjudication_standardlabel SET final_correct = NOT final_correct WHERE standard_id = %s",
            [standard.pk],
        )
    (found,) = audit.verify(study.slug)
    entry = AuditEntry.objects.get(chain__scope=study.slug, sequence=found.sequence)
    assert (found.scope, entry.action) == (study.slug, "standard frozen")
    assert found.reason == "standard 1 no longer has its sha256"


def test_a_patched_label_is_carried_on_until_a_later_decision(study: Study, adam: User) -> None:
    dispute = make_dispute(study, human=(True, 2), debate=(True, 4))
    settle(dispute, adam)
    standard = freeze_standard(study=study).standard
    question, label = dispute.trace.question.external_id, dispute.trace.response_label
    patched = patch_standard(
        study=study,
        from_version=standard.version,
        changes=[Change(question, label, {"first_error_step": 5})],
        reason="slip",
    ).standard
    again = freeze_standard(study=study)
    assert (again.created, again.standard) == (False, patched)
    fresh = make_dispute(study)
    settle(fresh, adam)
    third = freeze_standard(study=study).standard
    carried = third.labels.get(trace=dispute.trace)
    assert (carried.first_error_step, carried.provenance) == (5, "patched")


def _released(study: Study, trace: Trace, **fields: Any) -> ReferenceStandard:
    """Make a standard as an import of a release does: with a word of its own, not from our labels."""
    standard = ReferenceStandard.objects.create(study=study, version=1, sha256="0" * 64)
    values: dict[str, Any] = {
        "status": "ready",
        "final_correct": False,
        "first_error_step": 3,
        "first_error_step_min": 3,
        "first_error_step_max": 3,
        "provenance": "author_adjudication",
        **fields,
    }
    StandardLabel.objects.create(standard=standard, trace=trace, **values)
    return standard


def test_what_a_release_settled_is_carried_on(study: Study) -> None:
    trace = make_trace(make_question(study))
    both(trace, (True, 2), (False, 3))
    _released(study, trace)
    label = freeze_standard(study=study).standard.labels.get()
    assert (label.provenance, label.final_correct, label.first_error_step) == (
        "author_adjudication",
        False,
        3,
    )
    assert (label.first_error_step_min, label.first_error_step_max) == (3, 3)
    assert (label.human_first_error_step, label.debate_first_error_step) == (2, 3)
    assert not freeze_standard(study=study).created


def test_a_later_label_or_decision_speaks_before_what_a_release_settled(study: Study, adam: User) -> None:
    trace = make_trace(make_question(study))
    _released(study, trace)
    both(trace, (True, 2), (True, 4))
    with pytest.raises(FreezeRefused, match="1 open disputes"):
        freeze_standard(study=study)
    settle(Dispute.objects.get(trace=trace), adam)
    assert freeze_standard(study=study).standard.labels.get().provenance == "adjudicated"


def test_an_excluded_question_is_excluded_whatever_a_release_settled(study: Study) -> None:
    trace = make_trace(make_question(study))
    both(make_trace(make_question(study)), (True, None), (True, None))
    _released(study, trace)
    Question.objects.filter(pk=trace.question_id).update(status="excluded", exclusion_reason="x")
    label = freeze_standard(study=study).standard.labels.get(trace=trace)
    assert (label.status, label.provenance) == ("excluded", "question_excluded")


def test_the_undo_of_a_decision_and_a_freeze_agree_on_what_is_frozen(study: Study, adam: User) -> None:
    dispute = make_dispute(study)
    settle(dispute, adam)
    undo_decision(dispute=dispute, lead=adam, expected_revision=1)
    with pytest.raises(FreezeRefused):
        freeze_standard(study=study)


@pytest.mark.parametrize("size", [2, 30])
def test_the_number_of_queries_does_not_grow(
    study: Study, size: int, django_assert_max_num_queries: Any
) -> None:
    question = make_question(study)
    for _ in range(size):
        both(make_trace(question), (True, 2), (True, 2))
    with django_assert_max_num_queries(34):
        freeze_standard(study=study)
