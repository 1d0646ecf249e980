"""A lead's ruling: what it may say, what it entails, who comes first, how it is taken back."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import connection

from adjudication import queries
from adjudication.judgements import Judgement
from adjudication.masking import fingerprint
from adjudication.models import Consultation, Decision, Dispute
from adjudication.services.decisions import (
    AlreadyDecided,
    Consulted,
    DecisionFrozen,
    KeyCorrection,
    ProposalsMoved,
    decide_by_values,
    undo_decision,
)
from adjudication.services.rulings import InvalidDecision
from adjudication.services.standards import freeze_standard
from annotation.models import Label, Question, Role, Study
from core import audit
from core.errors import Conflict
from core.models import AuditEntry, User
from tests.adjudication.build import HUMAN, make_dispute, settle
from tests.build import make_label, make_person, make_question

pytestmark = pytest.mark.django_db


@pytest.fixture
def dispute(study: Study) -> Dispute:
    return make_dispute(study, human=(True, 2), debate=(False, 4))


def test_it_takes_the_values_of_a_proposal(dispute: Dispute, adam: User) -> None:
    shown = queries.proposals_in(dispute)
    for proposal in shown:
        decision = settle(dispute, adam, mark=proposal.mark)
        assert (decision.final_correct, decision.first_error_step) == proposal.point
        undo_decision(dispute=dispute, lead=adam, expected_revision=decision.revision)


def test_it_keeps_what_the_lead_saw_and_whom_the_lead_asked(dispute: Dispute, adam: User) -> None:
    asked = [Consulted("gpt-x", "the integral of step 2"), Consulted("a colleague")]
    decision = settle(dispute, adam, consulted=asked)
    assert [row["mark"] for row in decision.proposals] == ["A", "B"]
    assert list(Consultation.objects.order_by("pk").values_list("who", "why")) == [
        ("gpt-x", "the integral of step 2"),
        ("a colleague", ""),
    ]
    dispute.refresh_from_db()
    assert dispute.status == "decided"


def test_both_are_defensible_as_a_range(dispute: Dispute, adam: User) -> None:
    decision = settle(
        dispute,
        adam,
        choice="both",
        final_correct=True,
        first_error_step=2,
        first_error_step_min=2,
        first_error_step_max=4,
    )
    assert (decision.first_error_step_min, decision.first_error_step_max) == (2, 4)
    assert decision.chosen_mark == ""


def test_another_step_and_no_error_are_rulings_too(dispute: Dispute, adam: User) -> None:
    decision = settle(dispute, adam, choice="other", final_correct=True, first_error_step=None)
    undo_decision(dispute=dispute, lead=adam, expected_revision=1)
    second = settle(dispute, adam, choice="other", final_correct=False, first_error_step=5)
    assert (decision.first_error_step, second.first_error_step, second.revision) == (None, 5, 3)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"rationale": "  "}, "say in a sentence why"),
        ({"mark": "C"}, 'no proposal "C"; there are A, B'),
        ({"choice": "maybe"}, '"maybe" is no ruling'),
        ({"choice": "undo"}, '"undo" is no ruling'),
        ({"choice": "other", "first_error_step": 2}, "right or wrong"),
        ({"choice": "other", "final_correct": True, "first_error_step": 6}, "no step 6: this solution has 5"),
        ({"choice": "other", "final_correct": True, "first_error_step": 0}, "counted from 1"),
        ({"choice": "both", "final_correct": True}, "name the step that counts"),
        ({"choice": "both", "final_correct": True, "first_error_step": 2}, "from which to which"),
        (
            {
                "choice": "both",
                "final_correct": True,
                "first_error_step": 2,
                "first_error_step_min": 3,
                "first_error_step_max": 4,
            },
            "outside the range 3 to 4",
        ),
        (
            {
                "choice": "both",
                "final_correct": True,
                "first_error_step": 3,
                "first_error_step_min": 2,
                "first_error_step_max": 9,
            },
            "no step 9",
        ),
        (
            {
                "choice": "other",
                "final_correct": True,
                "first_error_step": 3,
                "first_error_step_min": 2,
            },
            "both its ends",
        ),
        ({"choice": "unusable", "exclusion": ""}, "say why the question is unusable"),
        (
            {"choice": "unusable", "exclusion": "x", "key_correction": KeyCorrection("1", "2")},
            "needs no corrected answer",
        ),
        ({"key_correction": KeyCorrection("", "wrong sign")}, "give the corrected"),
        ({"key_correction": KeyCorrection("7", " ")}, "what is wrong with the key"),
        ({"key_correction": KeyCorrection("42", "it is wrong")}, "same as the key in force"),
        ({"consulted": [Consulted("", "why")]}, "name the model or person"),
        ({"consulted": [Consulted("x" * 101)]}, "at most 100"),
        ({"rationale": "a\x00b"}, "NUL"),
    ],
)
def test_it_refuses_a_ruling_that_does_not_hold_together(
    dispute: Dispute, adam: User, fields: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidDecision, match=message):
        settle(dispute, adam, **fields)
    dispute.refresh_from_db()
    assert dispute.status == "open"
    assert not Decision.objects.exists()
    assert dispute.trace.question.reference_answers.count() == 1


def test_the_second_lead_is_told_of_the_first(dispute: Dispute, study: Study, adam: User) -> None:
    ada = make_person("ada", study=study, roles=[Role.LEAD])
    settle(dispute, adam, expected_revision=0)
    with pytest.raises(AlreadyDecided, match="by Adam meanwhile") as refused:
        settle(dispute, ada, expected_revision=0)
    assert refused.value.decision is not None
    assert refused.value.decision.decided_by == adam
    assert Decision.objects.count() == 1


SAME: list[dict[str, Any]] = [
    {"mark": "A"},
    {"mark": "A", "consulted": [Consulted("gpt-x", "step 2")]},
    {"mark": "A", "key_correction": KeyCorrection("43", "a slip")},
    {"choice": "other", "mark": "", "final_correct": True, "first_error_step": 3},
    {"choice": "unusable", "mark": "", "exclusion": "no unique answer"},
]


@pytest.mark.parametrize("ruling", SAME, ids=["mark", "consulted", "key", "step", "unusable"])
def test_the_same_ruling_again_gives_the_one_that_stands(
    dispute: Dispute, adam: User, ruling: dict[str, Any]
) -> None:
    first = settle(dispute, adam, expected_revision=0, **ruling)
    entries = AuditEntry.objects.count()
    assert settle(dispute, adam, expected_revision=0, **ruling) == first
    assert (Decision.objects.count(), AuditEntry.objects.count()) == (1, entries)
    for other in SAME:
        if other != ruling:
            with pytest.raises(AlreadyDecided):
                settle(dispute, adam, expected_revision=0, **other)
    with pytest.raises(AlreadyDecided):
        settle(dispute, adam, expected_revision=0, **ruling | {"rationale": "another reason"})
    with pytest.raises(AlreadyDecided):
        settle(dispute, adam, expected_revision=1, **ruling)


def test_a_ruling_made_on_an_older_page_is_refused_after_an_undo(dispute: Dispute, adam: User) -> None:
    settle(dispute, adam)
    undo_decision(dispute=dispute, lead=adam, expected_revision=1)
    with pytest.raises(AlreadyDecided, match="taken back"):
        settle(dispute, adam, expected_revision=0)


def test_it_refuses_when_the_proposals_moved_under_the_page(dispute: Dispute, adam: User) -> None:
    seen = fingerprint(queries.proposals_in(dispute))
    first = Label.objects.get(arm=HUMAN)
    make_label(dispute.trace, first_error_step=3, revision=2, supersedes=first)
    with pytest.raises(ProposalsMoved):
        settle(dispute, adam, seen=seen)


def test_a_withdrawn_dispute_cannot_be_decided(dispute: Dispute, adam: User) -> None:
    Dispute.objects.filter(pk=dispute.pk).update(status="withdrawn")
    with pytest.raises(Conflict, match="agree by now"):
        settle(dispute, adam)


def test_the_key_is_corrected_in_a_new_version(dispute: Dispute, adam: User) -> None:
    decision = settle(dispute, adam, key_correction=KeyCorrection("43", "a factor was dropped"))
    answer = queries.reference_answer_of(dispute.trace.question)
    assert answer is not None
    assert (answer.version, answer.text, answer.author) == (2, "43", adam)
    assert decision.corrected_answer == answer
    assert decision.key_is_wrong


def test_undoing_a_correction_gives_the_earlier_answer_back_as_a_version(
    dispute: Dispute, adam: User
) -> None:
    settle(dispute, adam, key_correction=KeyCorrection("43", "a factor was dropped"))
    undo_decision(dispute=dispute, lead=adam, expected_revision=1)
    answer = queries.reference_answer_of(dispute.trace.question)
    assert answer is not None
    assert (answer.version, answer.text) == (3, "42")


def test_undoing_leaves_a_later_correction_in_force(study: Study, dispute: Dispute, adam: User) -> None:
    sibling = make_dispute(study, question=dispute.trace.question)
    settle(dispute, adam, key_correction=KeyCorrection("43", "a factor was dropped"))
    settle(sibling, adam, key_correction=KeyCorrection("44", "two factors were"))
    undo_decision(dispute=dispute, lead=adam, expected_revision=1)
    answer = queries.reference_answer_of(dispute.trace.question)
    assert answer is not None
    assert (answer.version, answer.text) == (3, "44")


def test_an_unusable_question_is_excluded_with_its_other_disputes(
    study: Study, dispute: Dispute, adam: User
) -> None:
    sibling = make_dispute(study, question=dispute.trace.question)
    stranger = make_dispute(study)
    decision = settle(dispute, adam, choice="unusable", exclusion="two readings")
    assert decision.final_correct is None
    question = Question.objects.get(pk=dispute.trace.question_id)
    assert (question.status, question.exclusion_reason) == ("excluded", "two readings")
    for one, status in ((dispute, "decided"), (sibling, "withdrawn"), (stranger, "open")):
        one.refresh_from_db()
        assert one.status == status
    undo_decision(dispute=dispute, lead=adam, expected_revision=1)
    question.refresh_from_db()
    assert question.status == "included"
    assert Dispute.objects.filter(status="open").count() == 3


def test_nothing_is_decided_on_an_excluded_question(dispute: Dispute, adam: User) -> None:
    Question.objects.update(status="excluded", exclusion_reason="image only")
    with pytest.raises(Conflict, match="image only"):
        settle(dispute, adam)


def test_an_undo_is_a_row_of_its_own(dispute: Dispute, adam: User) -> None:
    first = settle(dispute, adam)
    undo = undo_decision(dispute=dispute, lead=adam, expected_revision=1, rationale="misread step 2")
    dispute.refresh_from_db()
    assert dispute.status == "open"
    assert (undo.choice, undo.supersedes, undo.rationale) == ("undo", first, "misread step 2")
    assert queries.standing_decision(dispute) is None
    assert queries.standing_decisions(dispute.study) == {}


def test_it_refuses_to_undo_twice(dispute: Dispute, adam: User) -> None:
    settle(dispute, adam)
    undo_decision(dispute=dispute, lead=adam, expected_revision=1)
    for revision in (1, 2):
        with pytest.raises(AlreadyDecided):
            undo_decision(dispute=dispute, lead=adam, expected_revision=revision)


def test_it_refuses_to_undo_what_was_never_decided(dispute: Dispute, adam: User) -> None:
    with pytest.raises(Conflict, match="not decided"):
        undo_decision(dispute=dispute, lead=adam, expected_revision=0)


def test_a_frozen_decision_stands(study: Study, dispute: Dispute, adam: User) -> None:
    settle(dispute, adam)
    freeze_standard(study=study)
    with pytest.raises(DecisionFrozen, match="standard 1"):
        undo_decision(dispute=dispute, lead=adam, expected_revision=1)


def test_a_decision_after_the_freeze_can_be_undone(study: Study, dispute: Dispute, adam: User) -> None:
    later = make_dispute(study, question=make_question(study))
    settle(dispute, adam)
    freeze_standard(study=study, allow_open=True)
    settle(later, adam)
    undo_decision(dispute=later, lead=adam, expected_revision=1)


def test_the_audit_entry_tells_values_and_no_source(dispute: Dispute, adam: User) -> None:
    settle(dispute, adam, consulted=[Consulted("a colleague", "units")])
    entry = AuditEntry.objects.get(action="dispute decided")
    text = str(entry.payload)
    assert "colleague" in text
    for word in ("human", "debate", "ana", dispute.trace.generator, dispute.trace.response_label):
        assert word not in text
    assert list(audit.verify()) == []


def test_a_file_of_values_picks_the_proposal_that_says_so(dispute: Dispute, adam: User) -> None:
    decision = decide_by_values(
        dispute=dispute,
        lead=adam,
        judgement=Judgement(final_correct=False, first_error_step=4),
        rationale="as argued",
    )
    assert decision.choice == "proposal"
    undo_decision(dispute=dispute, lead=adam, expected_revision=1)
    ranged = Judgement(
        final_correct=False, first_error_step=4, first_error_step_min=3, first_error_step_max=4
    )
    assert decide_by_values(dispute=dispute, lead=adam, judgement=ranged, rationale="x").choice == "both"
    undo_decision(dispute=dispute, lead=adam, expected_revision=3)
    other = Judgement(final_correct=False, first_error_step=1)
    assert decide_by_values(dispute=dispute, lead=adam, judgement=other, rationale="x").choice == "other"


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_of_two_leads_at_once_one_decides_and_one_is_told(study: Study) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("needs PostgreSQL (DATABASE_URL): SQLite in memory has one connection")
    dispute = make_dispute(study)
    leads = [make_person(f"lead{n}", study=study, roles=[Role.LEAD]) for n in range(4)]
    gate, outcomes = threading.Barrier(len(leads)), []

    def race(lead: User) -> None:
        try:
            gate.wait(timeout=10)
            settle(dispute, lead, expected_revision=0)
            outcomes.append("decided")
        except AlreadyDecided:
            outcomes.append("told")
        finally:
            connection.close()

    threads = [threading.Thread(target=race, args=(lead,)) for lead in leads]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert sorted(outcomes) == ["decided", "told", "told", "told"]
    assert Decision.objects.count() == 1
