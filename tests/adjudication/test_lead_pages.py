"""The lead's pages, endpoint by endpoint: works, foreigner, wrong role, wrong method, missing, twice."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from adjudication import queries
from adjudication.masking import fingerprint
from adjudication.models import Decision, Dispute, ReferenceStandard
from adjudication.views import standards as standards_views
from annotation.models import Label, Membership, Question, Role, Study, Trace
from core.models import User
from tests.adjudication.build import HUMAN, both, make_dispute, make_standard, settle
from tests.build import make_label, make_person, make_question, make_study, make_trace

pytestmark = pytest.mark.django_db


@pytest.fixture
def dispute(study: Study) -> Dispute:
    return make_dispute(study, human=(True, 2), debate=(False, 4))


@pytest.fixture
def lead(client: Client, adam: User) -> Client:
    client.force_login(adam)
    return client


def _address(name: str, dispute: Dispute) -> str:
    slug = dispute.study.slug
    arguments: dict[str, list[Any]] = {
        "disputes": [slug],
        "recompute_disputes": [slug],
        "dispute": [slug, dispute.token],
        "decide": [slug, dispute.token],
        "undo_decision": [slug, dispute.token],
        "state_gap": [slug, dispute.token],
        "open_arguments": [slug, dispute.token],
        "reveal_sources": [slug, dispute.token],
        "debate": [slug, dispute.token],
        "debates": [slug],
        "adjudication_rules": [slug],
        "state_study_gap": [slug],
        "standards": [slug],
        "freeze": [slug],
        "standard": [slug, 1],
        "standard_difference": [slug, 1, 1],
    }
    return reverse(name, args=arguments[name])


READ = (
    "disputes",
    "dispute",
    "standards",
    "standard",
    "standard_difference",
    "debates",
    "adjudication_rules",
)
WRITE = (
    "recompute_disputes",
    "decide",
    "undo_decision",
    "freeze",
    "state_gap",
    "open_arguments",
    "reveal_sources",
    "state_study_gap",
)
SHARED = ("standards", "standard", "standard_difference", "debates", "adjudication_rules")


def _ruling(dispute: Dispute, **fields: Any) -> dict[str, Any]:
    page = queries.proposals_in(dispute)
    latest = queries.latest_decision(dispute)
    return {
        "ruling": "A",
        "rationale": "The sign is lost there.",
        "expected_revision": latest.revision if latest else 0,
        "seen": fingerprint(page),
        **fields,
    }


@pytest.mark.parametrize("name", READ)
def test_a_lead_reads_every_page(lead: Client, dispute: Dispute, name: str) -> None:
    make_standard(dispute.study, allow_open=True)
    answer = lead.get(_address(name, dispute))
    assert answer.status_code == 200
    assert answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize("name", READ + WRITE)
def test_nobody_enters_without_signing_in(client: Client, dispute: Dispute, name: str) -> None:
    send = client.get if name in READ else client.post
    answer = send(_address(name, dispute))
    assert answer.status_code == 302
    assert answer.headers["Location"].startswith(reverse("login"))


@pytest.mark.parametrize("name", READ + WRITE)
def test_a_stranger_is_told_that_nothing_is_there(
    client: Client, eve: User, dispute: Dispute, name: str
) -> None:
    client.force_login(eve)
    send = client.get if name in READ else client.post
    assert send(_address(name, dispute)).status_code == 404


@pytest.mark.parametrize("who", ["ana", "olga"])
@pytest.mark.parametrize("name", READ + WRITE)
def test_another_role_is_refused(client: Client, study: Study, dispute: Dispute, name: str, who: str) -> None:
    roles = {"ana": Role.ANNOTATOR, "olga": Role.ADMINISTRATOR}
    make_standard(study, allow_open=True)
    client.force_login(make_person(who, study=study, roles=[roles[who]]))
    send = client.get if name in READ else client.post
    expected = 200 if who == "olga" and name in SHARED else 403
    assert send(_address(name, dispute)).status_code == expected
    assert not Decision.objects.exists()
    assert ReferenceStandard.objects.count() == 1


@pytest.mark.parametrize("name", [name for name in READ + WRITE if name != "adjudication_rules"])
def test_the_wrong_method_is_refused(lead: Client, dispute: Dispute, name: str) -> None:
    send = lead.post if name in READ else lead.get
    assert send(_address(name, dispute)).status_code == 405


@pytest.mark.parametrize(
    "path",
    [
        "/studies/optics/disputes/0000/",
        "/studies/optics/standards/7/",
        "/studies/optics/standards/99999999999999999999999/",
        "/studies/optics/standards/1/diff/2/",
        "/studies/nowhere/disputes/",
    ],
)
def test_what_is_not_there_is_404(lead: Client, path: str) -> None:
    assert lead.get(path).status_code == 404


def test_a_dispute_of_another_study_is_404(lead: Client, study: Study) -> None:
    foreign = make_dispute(make_study())
    assert lead.get(reverse("dispute", args=[study.slug, foreign.token])).status_code == 404
    assert lead.post(reverse("decide", args=[study.slug, foreign.token])).status_code == 404


def test_the_page_marks_the_steps_that_were_proposed(lead: Client, dispute: Dispute) -> None:
    page = lead.get(_address("dispute", dispute)).content.decode()
    for proposal in queries.proposals_in(dispute):
        step = page.split(f'id="step-{proposal.first_error_step}"')[1].split("</li>")[0]
        assert proposal.shape in step
        assert re.search(rf"</span>\s*{proposal.mark}</span>", step)
    assert page.count('class="dispute-number"') == 5
    assert "is-false" not in page


def test_deciding_leads_to_the_next_open_dispute(lead: Client, dispute: Dispute, adam: User) -> None:
    other = make_dispute(dispute.study)
    answer = lead.post(_address("decide", dispute), _ruling(dispute))
    assert answer.status_code == 302
    assert answer.headers["Location"] == _address("dispute", other)
    decision = Decision.objects.get()
    assert (decision.decided_by, decision.chosen_mark, decision.revision) == (adam, "A", 1)


def test_the_last_ruling_leads_to_the_list(lead: Client, dispute: Dispute) -> None:
    answer = lead.post(_address("decide", dispute), _ruling(dispute))
    assert answer.headers["Location"] == _address("disputes", dispute)
    listed = lead.get(_address("disputes", dispute), {"state": "decided"}).content.decode()
    assert dispute.token in listed
    assert "Adam" in listed


@pytest.mark.parametrize(
    ("fields", "choice", "values"),
    [
        (
            {
                "ruling": "both",
                "final_correct": "wrong",
                "first_error_step": "3",
                "first_error_step_min": "2",
                "first_error_step_max": "4",
            },
            "both",
            (False, 3, 2, 4),
        ),
        ({"ruling": "other", "final_correct": "right", "other_step": "5"}, "other", (True, 5, None, None)),
        ({"ruling": "none", "final_correct": "right"}, "other", (True, None, None, None)),
        (
            {"ruling": "none", "final_correct": "right", "other_step": "3", "first_error_step": "2"},
            "other",
            (True, None, None, None),
        ),
        ({"ruling": "unusable", "exclusion": "two readings"}, "unusable", (None, None, None, None)),
    ],
)
def test_every_ruling_can_be_entered(
    lead: Client, dispute: Dispute, fields: dict[str, str], choice: str, values: tuple[Any, ...]
) -> None:
    assert lead.post(_address("decide", dispute), _ruling(dispute, **fields)).status_code == 302
    decision = Decision.objects.get()
    assert decision.choice == choice
    assert values == (
        decision.final_correct,
        decision.first_error_step,
        decision.first_error_step_min,
        decision.first_error_step_max,
    )


def test_the_key_and_the_consulted_are_entered_with_the_ruling(lead: Client, dispute: Dispute) -> None:
    fields = {
        "corrected_answer": "43",
        "correction_reason": "a factor $\\hbar$ was dropped",
        "consulted_who_1": "a colleague",
        "consulted_why_1": "units",
        "consulted_who_3": "model-x",
    }
    lead.post(_address("decide", dispute), _ruling(dispute, **fields))
    decision = Decision.objects.get()
    assert decision.corrected_answer is not None
    assert [entry.who for entry in decision.consultations.order_by("pk")] == ["a colleague", "model-x"]
    page = lead.get(_address("dispute", dispute)).content.decode()
    # In the question's card and in the ruling, its formula set as everywhere.
    assert len(re.findall(r"a factor (<span[^>]*>)?<math\b", page)) == 2
    assert r"$\hbar$" not in page
    assert "model-x" in page


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"ruling": ""}, "Choose a ruling"),
        ({"rationale": "  "}, "Say in a sentence why"),
        ({"ruling": "Z"}, "there is no proposal"),
        ({"ruling": "other", "final_correct": "right"}, "Name the step"),
        ({"ruling": "other", "final_correct": "right", "other_step": "6"}, "no step 6: this solution has 5"),
        ({"ruling": "other", "final_correct": "right", "other_step": "x"}, "Enter a whole number"),
        ({"ruling": "none"}, "right or wrong"),
        ({"ruling": "none", "final_correct": "perhaps"}, "Select a valid choice"),
        ({"ruling": "unusable"}, "why the question is unusable"),
        ({"consulted_why_2": "units"}, "name the model or person"),
        ({"corrected_answer": "42", "correction_reason": "x"}, "the same as the key"),
        ({"expected_revision": "x"}, "Enter a whole number"),
    ],
)
def test_a_ruling_that_does_not_hold_is_shown_again_with_its_words(
    lead: Client, dispute: Dispute, fields: dict[str, str], message: str
) -> None:
    answer = lead.post(_address("decide", dispute), _ruling(dispute, **fields))
    assert answer.status_code == 422
    page = answer.content.decode()
    assert message in page
    if "rationale" not in fields:
        assert "The sign is lost there." in page
    assert not Decision.objects.exists()


def test_the_second_lead_gets_409_with_the_first_ruling(lead: Client, dispute: Dispute, study: Study) -> None:
    entered = _ruling(dispute, rationale="My own words.")
    ada = make_person("ada", study=study, roles=[Role.LEAD])
    settle(dispute, ada, rationale="Ada was here first.")
    answer = lead.post(_address("decide", dispute), entered)
    assert answer.status_code == 409
    page = answer.content.decode()
    assert "Ada was here first." in page
    assert "Your rationale, not saved: My own words." in page
    assert Decision.objects.count() == 1


def test_moved_proposals_get_409_and_keep_the_words(lead: Client, dispute: Dispute) -> None:
    entered = _ruling(dispute, rationale="My own words.")
    first = Label.objects.get(arm=HUMAN)
    make_label(dispute.trace, first_error_step=3, revision=2, supersedes=first)
    answer = lead.post(_address("decide", dispute), entered)
    assert answer.status_code == 409
    page = answer.content.decode()
    assert "My own words." in page
    assert "the proposals changed" in page
    seen = re.search(r'name="seen" value="(\w+)"', page)
    assert seen is not None
    assert lead.post(_address("decide", dispute), {**entered, "seen": seen[1]}).status_code == 302


def test_a_ruling_is_taken_back_once(lead: Client, dispute: Dispute, adam: User) -> None:
    settle(dispute, adam)
    undo = {"expected_revision": 1, "rationale": "misread"}
    assert lead.post(_address("undo_decision", dispute), undo).status_code == 302
    assert "misread" in lead.get(_address("dispute", dispute)).content.decode()
    assert lead.post(_address("undo_decision", dispute), undo).status_code == 409
    assert Decision.objects.count() == 2


def test_a_frozen_ruling_offers_no_way_back(lead: Client, dispute: Dispute, adam: User) -> None:
    settle(dispute, adam)
    make_standard(dispute.study)
    page = lead.get(_address("dispute", dispute)).content.decode()
    assert "standard 1" in page
    assert _address("undo_decision", dispute) not in page
    answer = lead.post(_address("undo_decision", dispute), {"expected_revision": 1})
    assert answer.status_code == 409


def test_a_withdrawn_dispute_shows_no_proposals(lead: Client, dispute: Dispute) -> None:
    Dispute.objects.update(status="withdrawn")
    page = lead.get(_address("dispute", dispute)).content.decode()
    assert "agree by now" in page
    assert 'class="mark"' not in page
    assert lead.post(_address("decide", dispute), _ruling(dispute)).status_code == 409


def test_a_solution_without_text_still_has_its_proposals(lead: Client, study: Study) -> None:
    bare = Trace.objects.create(
        study=study, question=make_question(study, statement=""), cut="text_free", n_steps=7, sha256="0" * 64
    )
    both(bare, (True, 2), (True, 3))
    lead.post(reverse("recompute_disputes", args=[study.slug]))
    found = Dispute.objects.get(trace=bare)
    page = lead.get(_address("dispute", found)).content.decode()
    assert "it has 7 steps" in page
    assert page.count("proposals") and page.count("◆") and page.count("●")


def test_the_list_filters_by_state_and_kind(lead: Client, study: Study) -> None:
    step = make_dispute(study, human=(True, 2), debate=(True, 4))
    answer = make_dispute(study, human=(True, None), debate=(False, None))
    page = lead.get(_address("disputes", step), {"kind": "step"}).content.decode()
    assert step.token in page
    assert answer.token not in page
    for query in ({"kind": "source"}, {"state": "withdrawn"}, {"page": "nine"}, {"page": "99"}):
        assert lead.get(_address("disputes", step), query).status_code == 200


def test_looking_for_new_disputes_finds_them(lead: Client, study: Study) -> None:
    both(make_trace(make_question(study)), (True, 1), (True, 2))
    answer = lead.post(reverse("recompute_disputes", args=[study.slug]), follow=True)
    assert "1 opened" in answer.content.decode()


@pytest.mark.parametrize("size", [2, 60])
def test_the_list_takes_the_same_queries_whatever_its_length(
    lead: Client, study: Study, adam: User, size: int, django_assert_max_num_queries: Any
) -> None:
    question = make_question(study)
    for _ in range(size):
        both(make_trace(question), (True, 2), (False, 3))
    lead.post(reverse("recompute_disputes", args=[study.slug]))
    for found in list(Dispute.objects.select_related("study", "trace__question"))[: size // 2]:
        settle(found, adam)
    for state in ("open", "decided"):
        with django_assert_max_num_queries(9):
            assert lead.get(reverse("disputes", args=[study.slug]), {"state": state}).status_code == 200


@pytest.mark.parametrize("n_steps", [3, 60])
def test_the_page_takes_the_same_queries_whatever_the_length_of_the_solution(
    lead: Client, study: Study, n_steps: int, django_assert_max_num_queries: Any
) -> None:
    dispute = make_dispute(study, human=(True, 2), debate=(True, 3), n_steps=n_steps)
    with django_assert_max_num_queries(17):
        assert lead.get(_address("dispute", dispute)).status_code == 200


def test_freezing_from_the_page(lead: Client, dispute: Dispute, adam: User) -> None:
    address = _address("freeze", dispute)
    refused = lead.post(address, {"note": "too soon"})
    assert refused.status_code == 409
    assert "stands in the way" in refused.content.decode()
    settle(dispute, adam)
    first = lead.post(address, {"note": "first"})
    assert first.headers["Location"] == _address("standard", dispute)
    again = lead.post(address, {"note": "again"}, follow=True)
    assert "Nothing changed since version 1" in again.content.decode()
    standard = ReferenceStandard.objects.get()
    assert (standard.note, standard.frozen_by) == ("first", adam)


def test_open_disputes_may_be_frozen_as_unresolved_from_the_page(lead: Client, dispute: Dispute) -> None:
    both(make_trace(make_question(dispute.study)), (True, None), (True, None))
    lead.post(_address("freeze", dispute), {"allow_open": "on"})
    page = lead.get(_address("standard", dispute)).content.decode()
    assert "1 of 2 traces ready" in page
    assert "open dispute: answer, step" in page


def test_an_administrator_who_is_no_lead_sees_standards_without_the_freeze(
    client: Client, study: Study, olga: User
) -> None:
    client.force_login(olga)
    make_standard(study)
    page = client.get(reverse("standards", args=[study.slug])).content.decode()
    assert reverse("freeze", args=[study.slug]) not in page
    Membership.objects.create(study=study, person=olga, role=Role.LEAD)
    page = client.get(reverse("standards", args=[study.slug])).content.decode()
    assert reverse("freeze", args=[study.slug]) in page


def test_reading_writes_nothing(lead: Client, dispute: Dispute) -> None:
    make_standard(dispute.study, allow_open=True)
    before = [list(model.objects.values()) for model in (Dispute, Decision, Question, ReferenceStandard)]
    for name in READ:
        lead.get(_address(name, dispute))
    after = [list(model.objects.values()) for model in (Dispute, Decision, Question, ReferenceStandard)]
    assert after == before


def test_a_large_study_s_standards_come_before_what_a_freeze_would_find(
    lead: Client, dispute: Dispute, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = reverse("standards", args=[study.slug])
    assert "wait for a decision of the lead" in lead.get(address).content.decode()
    monkeypatch.setattr(standards_views, "MANY", 0)
    page = lead.get(address).content.decode()
    assert "wait for a decision of the lead" not in page
    assert 'href="?conditions=1"' in page
    assert "wait for a decision of the lead" in lead.get(address + "?conditions=1").content.decode()
    fragment = lead.get(address, headers={"HX-Request": "true"}).content.decode()
    assert "wait for a decision of the lead" in fragment
    assert "<html" not in fragment
