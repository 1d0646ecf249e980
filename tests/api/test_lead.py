"""The lead's part of the API: disputes, rulings and standards."""

from __future__ import annotations

from typing import Any

import pytest

from adjudication.models import Decision, Dispute, ReferenceStandard
from adjudication.services.patches import parse_change, patch_standard
from annotation.models import Question, Role, Study
from core.models import User
from tests.adjudication.build import both, make_dispute, make_standard, settle
from tests.api.build import Program, error_of
from tests.build import make_label, make_person, make_question, make_trace

pytestmark = pytest.mark.django_db


@pytest.fixture
def lead(adam: User) -> Program:
    return Program(adam)


@pytest.fixture
def dispute(study: Study) -> Dispute:
    return make_dispute(study)


def _path(dispute: Dispute, part: str = "") -> str:
    return f"studies/{dispute.study.slug}/disputes/{dispute.token}/{part}"


def _ruling(shown: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "choice": "proposal",
        "mark": "A",
        "rationale": "The sign is lost there.",
        "expected_revision": shown["revision"],
        "seen": shown["seen"],
        **fields,
    }


def test_a_dispute_shows_values_under_marks(lead: Program, dispute: Dispute) -> None:
    shown = lead.get(_path(dispute)).json()
    assert [proposal["mark"] for proposal in shown["proposals"]] == ["A", "B"]
    assert {proposal["first_error_step"] for proposal in shown["proposals"]} == {2, 4}
    assert shown["kinds"] == ["step"]
    assert shown["decision"] is None
    assert len(shown["steps"]) == shown["n_steps"] == 5


def test_a_ruling_is_made_and_taken_back(lead: Program, dispute: Dispute) -> None:
    shown = lead.get(_path(dispute)).json()
    consulted = [{"who": "a colleague", "why": "units"}]
    made = lead.post(_path(dispute, "decide/"), _ruling(shown, mark="B", consulted=consulted))
    assert made.status_code == 201
    decision = made.json()["decision"]
    assert decision["first_error_step"] == shown["proposals"][1]["first_error_step"]
    assert decision["consulted"] == consulted
    assert decision["decided_by"] == "adam"
    rows = lead.get(f"studies/{dispute.study.slug}/disputes/", state="decided").json()["results"]
    assert rows[0]["ruling"]["decided_by"] == "adam"
    assert lead.get(f"studies/{dispute.study.slug}/disputes/").json()["count"] == 0
    undone = lead.post(_path(dispute, "undo/"), {"expected_revision": 1, "rationale": "misread"})
    assert undone.status_code == 201
    assert (undone.json()["state"], undone.json()["decision"]) == ("open", None)
    assert lead.post(_path(dispute, "undo/"), {"expected_revision": 1}).status_code == 409


def test_a_range_and_a_corrected_key_go_the_same_way_as_on_the_page(lead: Program, dispute: Dispute) -> None:
    shown = lead.get(_path(dispute)).json()
    ruling = _ruling(
        shown,
        choice="both",
        mark="",
        final_correct=True,
        first_error_step=3,
        first_error_step_min=2,
        first_error_step_max=4,
        key_correction={"text": "43", "reason": "a factor was dropped"},
    )
    made = lead.post(_path(dispute, "decide/"), ruling).json()
    assert made["decision"]["first_error_step_max"] == 4
    assert made["decision"]["corrected_answer"] == {"version": 2, "text": "43"}
    assert made["reference_answer"]["version"] == 2


def test_an_unusable_question_is_excluded(lead: Program, dispute: Dispute) -> None:
    shown = lead.get(_path(dispute)).json()
    ruling = _ruling(shown, choice="unusable", mark="", exclusion="two readings")
    assert lead.post(_path(dispute, "decide/"), ruling).status_code == 201
    assert Question.objects.get().exclusion_reason == "two readings"


@pytest.mark.parametrize(
    ("fields", "status", "field"),
    [
        ({"choice": "undo"}, 400, "choice"),
        ({"choice": "coin"}, 400, "choice"),
        ({"rationale": "  "}, 400, "rationale"),
        ({"rationale": None}, 400, "rationale"),
        ({"mark": "Z"}, 422, "choice"),
        ({"choice": "other", "mark": ""}, 422, "final_correct"),
        ({"choice": "other", "final_correct": True, "first_error_step": 6}, 422, "first_error_step"),
        ({"choice": "both", "final_correct": True, "first_error_step": 2}, 422, "first_error_step_min"),
        ({"choice": "unusable"}, 422, "exclusion"),
        ({"consulted": [{"why": "units"}]}, 400, "consulted.0.who"),
        ({"consulted": "Bob"}, 400, "consulted"),
        ({"key_correction": {"text": "43"}}, 400, "key_correction.reason"),
        ({"key_correction": {"text": "42", "reason": "x"}}, 422, "corrected_answer"),
        ({"arm": "human"}, 400, "arm"),
    ],
)
def test_a_ruling_that_does_not_hold_names_the_field(
    lead: Program, dispute: Dispute, fields: dict[str, Any], status: int, field: str
) -> None:
    answer = lead.post(_path(dispute, "decide/"), _ruling(lead.get(_path(dispute)).json(), **fields))
    assert answer.status_code == status, answer.content
    assert field in error_of(answer)["fields"]
    assert not Decision.objects.exists()


def test_the_second_lead_gets_409(lead: Program, dispute: Dispute, study: Study) -> None:
    ruling = _ruling(lead.get(_path(dispute)).json())
    settle(dispute, make_person("ada", study=study, roles=[Role.LEAD]))
    answer = lead.post(_path(dispute, "decide/"), ruling)
    assert answer.status_code == 409
    assert "Ada" in error_of(answer)["message"]
    assert Decision.objects.count() == 1


def test_moved_proposals_get_409(lead: Program, dispute: Dispute) -> None:
    ruling = _ruling(lead.get(_path(dispute)).json())
    first = dispute.trace.labels.get(arm="human")
    make_label(dispute.trace, first_error_step=3, revision=2, supersedes=first)
    assert lead.post(_path(dispute, "decide/"), ruling).status_code == 409


def test_the_list_filters_and_refuses_other_filters(lead: Program, study: Study) -> None:
    step = make_dispute(study, human=(True, 2), debate=(True, 4))
    make_dispute(study, human=(True, None), debate=(False, None))
    rows = lead.get("studies/optics/disputes/", kind="step").json()["results"]
    assert [row["token"] for row in rows] == [step.token]
    for query in ({"kind": "arm"}, {"state": "withdrawn"}, {"order": "arm"}):
        assert lead.get("studies/optics/disputes/", **query).status_code == 400


def test_new_disputes_are_looked_for(lead: Program, study: Study) -> None:
    both(make_trace(make_question(study)), (True, 1), (True, 2))
    answer = lead.post("studies/optics/disputes/recompute/").json()
    assert answer == {"opened": 1, "withdrawn": 0, "open": 1}


def test_a_standard_is_frozen_once_per_content(lead: Program, dispute: Dispute, adam: User) -> None:
    refused = lead.post("studies/optics/standards/", {"note": "too soon"})
    assert refused.status_code == 409
    assert "1 open disputes" in error_of(refused)["message"]
    assert dispute.trace.response_label not in refused.content.decode()
    assert lead.get("studies/optics/standards/conditions/").json()["blocked"] is True
    settle(dispute, adam)
    first = lead.post("studies/optics/standards/", {"note": "first"})
    assert (first.status_code, first.json()["created"]) == (201, True)
    again = lead.post("studies/optics/standards/", {})
    assert (again.status_code, again.json()["created"]) == (200, False)
    card = lead.get("studies/optics/standards/1/").json()
    assert card["card"]["ready"] == 1
    assert card["frozen_by"] == "adam"
    assert card["sha256"] == ReferenceStandard.objects.get().sha256
    assert lead.get("studies/optics/standards/").json()["count"] == 1
    assert lead.post(_path(dispute, "undo/"), {"expected_revision": 1}).status_code == 409
    assert lead.get(_path(dispute)).json()["frozen_in"] == 1


def test_two_standards_are_compared_under_letters(lead: Program, study: Study) -> None:
    standard = make_standard(study)
    label = standard.labels.select_related("trace__question").get()
    name = f"{label.trace.question.external_id}/{label.trace.response_label}"
    change = parse_change(f"{name}:first_error_step=2")
    patch_standard(study=study, from_version=1, changes=[change], reason="seen again")
    answer = lead.get("studies/optics/standards/1/diff/2/")
    rows = answer.json()["results"]
    assert [(row["field"], row["before"], row["after"]) for row in rows] == [
        ("first error step", "none", "2")
    ]
    assert label.trace.response_label not in answer.content.decode()


def test_a_missing_standard_is_404(lead: Program, study: Study) -> None:
    make_standard(study)
    for path in ("9/", "1/diff/9/", f"{10**30}/"):
        answer = lead.get(f"studies/optics/standards/{path}")
        assert (answer.status_code, error_of(answer)["code"]) == (404, "not_found")


def test_questions_and_reported_keys_are_listed_without_judgements_or_names(
    lead: Program, dispute: Dispute, study: Study
) -> None:
    ana = Program(make_person("ana", study=study, roles=[Role.ANNOTATOR]))
    ana.post(f"studies/optics/traces/{dispute.trace.token}/key-report/", {"reason": "the unit"})
    question = lead.get("studies/optics/questions/").json()["results"][0]
    assert question["question_id"] == dispute.trace.question.external_id
    assert (question["traces"], question["key_reports"], question["reference_answer"]) == (1, None, "42")
    assert lead.get("studies/optics/key-reports/").json()["results"] == [], "the trace is still in dispute"
    operator = Program(make_person("otto", study=study, roles=[Role.ADMINISTRATOR]))
    assert operator.get("studies/optics/questions/").json()["results"][0]["key_reports"] == 1
    report = operator.get("studies/optics/key-reports/").json()["results"][0]
    assert (report["question_id"], report["reason"]) == (question["question_id"], "the unit")
    assert "ana" not in str(report)
