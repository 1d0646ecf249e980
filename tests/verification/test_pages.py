"""Pages of verification: who may open them, what they do, and what they never show."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from adjudication.services.leaks import find_leaks
from annotation.models import Membership, Role, Study, Trace
from core.models import User
from tests.adjudication.build import both, make_dispute
from tests.build import make_person, make_question, make_trace
from tests.verification.build import NUMBER, OBLIGATIONS, make_item, record_execution, specify
from tests.verification.conftest import GENERATOR
from verification.models import ExpertItem, KeyAudit, ObligationMapping
from verification.services.checks import run_checks
from verification.services.evidence import record_flags
from verification.services.experts import take_item

pytestmark = pytest.mark.django_db


@pytest.fixture
def trace(study: Study) -> Trace:
    """A trace with something in every layer."""
    question = make_question(study, answer="10 m", statement="How far?")
    specify(question, obligations=OBLIGATIONS, rules=[NUMBER], limits={"max_calls": 1}, tools=["python"])
    made = make_trace(
        question,
        steps=["(1) $2 + 2 = 4$.", "(2) $3 \\cdot 4 = 13$.", r"(3) \boxed{10}"],
        generator=GENERATOR,
        response_label="Response Zeta",
    )
    record_execution(made, calls=[{"tool": "python"}, {"tool": "python"}], attempts=1, elapsed_seconds=2)
    record_flags(
        trace=made,
        flags=[
            {"kind": "gap", "concern": "Why may this be dropped?", "step": 3},
            {"kind": "misapplied_rule", "concern": "A reply is ignored.", "call": 2},
        ],
        raised_by="judge-777/v1",
    )
    both(made, (True, None), (True, None))
    run_checks(traces=[made])
    return made


@pytest.fixture
def item(trace: Trace) -> ExpertItem:
    return make_item(trace)


def address(name: str, trace: Trace | None = None, item: ExpertItem | None = None) -> str:
    slug = "optics"
    if name in ("verify_trace", "check_trace", "send_to_experts", "map_steps", "take_needed"):
        assert trace is not None
        return reverse(name, args=[slug, trace.token])
    if name in ("expert_item", "take_item", "put_back_item", "rule_on_item"):
        assert item is not None
        return reverse(name, args=[slug, item.token])
    if name in ("key_audit", "decide_key_audit", "report_audited_key"):
        return reverse(name, args=[slug, 1])
    return reverse(name, args=[slug])


READ = ("verification", "verify_trace", "experts", "expert_item", "key_audits", "key_audit", "grading")
WRITE = (
    "check_trace", "send_to_experts", "map_steps", "take_needed", "take_item", "put_back_item",
    "rule_on_item", "new_key_audit", "decide_key_audit", "report_audited_key",
)  # fmt: skip
ONLY_LEADS = (
    "experts",
    "expert_item",
    *(name for name in WRITE if name not in ("check_trace", "new_key_audit")),
)


@pytest.mark.parametrize("name", READ)
def test_a_lead_reads_every_page(
    client: Client, adam: User, trace: Trace, item: ExpertItem, kept: KeyAudit, name: str
) -> None:
    client.force_login(adam)
    answer = client.get(address(name, trace, item))
    assert answer.status_code == 200
    assert answer.headers["Content-Security-Policy"]
    assert " style=" not in answer.content.decode()


@pytest.mark.parametrize("name", READ + WRITE)
def test_strangers_and_annotators_are_kept_out(
    client: Client, ana: User, eve: User, trace: Trace, item: ExpertItem, kept: KeyAudit, name: str
) -> None:
    url = address(name, trace, item)
    send = client.get if name in READ else client.post
    assert send(url).headers["Location"].startswith(reverse("login"))
    client.force_login(eve)
    assert send(url).status_code == 404
    client.force_login(ana)
    assert send(url).status_code == 403


@pytest.mark.parametrize("name", READ + WRITE)
def test_an_administrator_reads_but_does_not_judge(
    client: Client, olga: User, trace: Trace, item: ExpertItem, kept: KeyAudit, name: str
) -> None:
    client.force_login(olga)
    send = client.get if name in READ else client.post
    assert (send(address(name, trace, item)).status_code == 403) == (name in ONLY_LEADS)


@pytest.mark.parametrize("name", WRITE)
def test_reading_never_writes(
    client: Client, adam: User, trace: Trace, item: ExpertItem, kept: KeyAudit, name: str
) -> None:
    client.force_login(adam)
    assert client.get(address(name, trace, item)).status_code == 405


def test_what_is_missing_is_not_found(client: Client, adam: User, study: Study) -> None:
    client.force_login(adam)
    for name in ("verify_trace", "expert_item"):
        assert client.get(reverse(name, args=[study.slug, "nowhere"])).status_code == 404
    assert client.get(reverse("key_audit", args=[study.slug, 7])).status_code == 404


# -- blindness ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", READ)
def test_no_page_names_a_source_to_a_lead(
    client: Client, study: Study, adam: User, trace: Trace, item: ExpertItem, kept: KeyAudit, name: str
) -> None:
    make_dispute(study)
    Membership.objects.create(study=study, person=adam, role=Role.ADMINISTRATOR)
    client.force_login(adam)
    page = client.get(address(name, trace, item)).content.decode()
    for secret in (GENERATOR, "nadir-1", "Response Zeta", "Response Eta", "judge-777", "debate"):
        assert secret not in page, secret


def test_the_walk_for_leaks_reads_these_pages_and_finds_none(
    study: Study, adam: User, ana: User, trace: Trace, item: ExpertItem, kept: KeyAudit
) -> None:
    make_dispute(study)
    report = find_leaks(study=study, lead=adam)
    assert report.leaks == []
    assert {name for name in READ if name not in report.pages} == set()


@pytest.mark.parametrize("name", ("verification", "verify_trace", "experts", "expert_item"))
def test_the_labels_of_the_arms_leave_no_mark(
    client: Client, study: Study, adam: User, trace: Trace, item: ExpertItem, name: str
) -> None:
    """A page is the same, byte for byte, whatever the arms said."""
    client.force_login(adam)

    def page() -> str:
        text = client.get(address(name, trace, item)).content.decode()
        return re.sub(r'name="csrfmiddlewaretoken" value="\w+"|nonce="[^"]+"', "", text)

    first = page()
    other = make_trace(make_question(study, external_id="other"))
    second = page()
    both(other, (True, 2), (False, 4))
    assert page() == second
    assert name == "verification" or first == second


def test_an_administrator_who_neither_leads_nor_labels_sees_the_models(
    client: Client, olga: User, kept: KeyAudit
) -> None:
    client.force_login(olga)
    assert GENERATOR in client.get(address("key_audit")).content.decode()


# -- the trace ---------------------------------------------------------------------------------------------


def test_the_page_of_a_trace_shows_its_layers_apart(client: Client, adam: User, trace: Trace) -> None:
    client.force_login(adam)
    page = client.get(address("verify_trace", trace)).content.decode()
    for words in (
        "Correctness",
        "Compliance",
        "Efficiency",
        "the left side is 12",
        "2 tool calls, 1 are allowed",
    ):
        assert words in page
    assert "Rejected" in page
    assert "Why may this be dropped?" in page and "tool call 2" in page
    assert page.count("<rect") == len(OBLIGATIONS)


def test_a_false_step_fails_its_obligation_and_what_rests_on_it_is_unverified(
    client: Client, adam: User, trace: Trace
) -> None:
    client.force_login(adam)
    for name, steps in (("forces", "1"), ("balance", "2"), ("answer", "3")):
        data = {"obligation": name, "steps": steps, "status": "valid", "reason": ""}
        assert client.post(address("map_steps", trace), data).status_code == 302
    page = client.get(address("verify_trace", trace)).content.decode()
    assert "First to fail: <strong>balance</strong>" in page
    assert [page.count(f'class="obligation is-{state}"') for state in ("valid", "failed", "unverified")] == [
        1,
        1,
        1,
    ]


def test_without_a_graph_the_steps_after_the_first_false_one_are_unverified(
    client: Client, adam: User, study: Study
) -> None:
    trace = make_trace(
        make_question(study), steps=["(1) $1 + 1 = 2$.", "(2) $3 = 4$.", "(3) So.", "(4) Done."]
    )
    run_checks(traces=[trace])
    client.force_login(adam)
    page = client.get(address("verify_trace", trace)).content.decode()
    assert "the steps are a chain" in page
    steps = page.split('aria-label="Solution"')[1]
    assert [steps.count(f">{word}</span>") for word in ("failed", "unverified", "valid")] == [1, 2, 0]


@pytest.mark.parametrize(
    "data",
    [
        {"obligation": "forces", "steps": "x", "status": "valid"},
        {"obligation": "forces", "steps": "3-1", "status": "valid"},
        {"obligation": "forces", "steps": "9", "status": "valid"},
        {"obligation": "forces", "steps": "1", "status": "odd"},
        {"obligation": "forces", "steps": "1", "status": "failed", "reason": ""},
        {"obligation": "nothing", "steps": "1", "status": "valid"},
    ],
)
def test_a_bad_mapping_is_refused_with_the_form(
    client: Client, adam: User, trace: Trace, data: dict[str, str]
) -> None:
    client.force_login(adam)
    answer = client.post(address("map_steps", trace), data)
    assert answer.status_code == 422
    assert "errorlist" in answer.content.decode()
    assert not ObligationMapping.objects.exists()


def test_the_checks_run_from_the_page(client: Client, olga: User, trace: Trace) -> None:
    trace.checks.all().delete()
    client.force_login(olga)
    assert client.post(address("check_trace", trace)).status_code == 302
    assert trace.checks.count() > 3


def test_text_in_evidence_is_escaped(client: Client, adam: User, study: Study) -> None:
    evil = "<script>alert(1)</script>"
    question = make_question(study)
    specify(question, obligations=[{"id": "a", "text": evil}], target=evil, assumptions=[evil])
    trace = make_trace(question)
    record_execution(trace, calls=[{"tool": evil, "arguments": evil, "result": evil}])
    record_flags(trace=trace, flags=[{"kind": "gap", "concern": evil, "step": 1}], raised_by="m")
    client.force_login(adam)
    assert evil not in client.get(address("verify_trace", trace)).content.decode()


@pytest.mark.parametrize("size", [2, 12])
def test_the_number_of_queries_does_not_grow(
    client: Client, study: Study, adam: User, trace: Trace, size: int, django_assert_max_num_queries: Any
) -> None:
    for _ in range(size):
        other = make_trace(trace.question, n_steps=size)
        run_checks(traces=[other])
        make_item(other)
        record_flags(trace=other, flags=[{"kind": "gap", "concern": "Why?", "step": 1}], raised_by="m")
    client.force_login(adam)
    for name, most in (("verification", 9), ("experts", 16), ("verify_trace", 24)):
        with django_assert_max_num_queries(most):
            client.get(address(name, other))


# -- experts ---------------------------------------------------------------------------------------------------


def test_an_expert_takes_an_item_and_leaves_it_open(
    client: Client, adam: User, trace: Trace, item: ExpertItem
) -> None:
    both(make_trace(make_question(item.study)), (True, None), (True, None))
    client.force_login(adam)
    assert client.post(address("take_item", item=item)).status_code == 302
    data = {"outcome": "unresolved", "step": "", "reason": "The bound is not uniform."}
    assert client.post(address("rule_on_item", item=item), data).status_code == 302
    assert "The bound is not uniform." in client.get(address("experts")).content.decode()
    standards = client.get(reverse("standards", args=["optics"])).content.decode()
    assert "will be unresolved" in standards
    call_command("freeze_standard", study="optics")
    card = client.get(reverse("standard", args=["optics", 1])).content.decode()
    assert "left open by an expert: The bound is not uniform." in card


def test_an_item_of_another_expert_answers_409(
    client: Client, study: Study, adam: User, item: ExpertItem
) -> None:
    take_item(item=item, expert=make_person(study=study, roles=[Role.LEAD]))
    client.force_login(adam)
    assert client.post(address("take_item", item=item)).status_code == 409
    assert client.post(address("put_back_item", item=item)).status_code == 409
    answer = client.post(address("rule_on_item", item=item), {"outcome": "valid", "reason": "It holds."})
    assert answer.status_code == 409


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"outcome": "valid"},
        {"outcome": "odd", "reason": "x"},
        {"outcome": "valid", "step": "1", "reason": "x"},
    ],
)
def test_a_bad_ruling_is_refused_and_the_words_stay(
    client: Client, adam: User, item: ExpertItem, data: dict[str, str]
) -> None:
    client.force_login(adam)
    client.post(address("take_item", item=item))
    answer = client.post(address("rule_on_item", item=item), data)
    assert answer.status_code == 422
    assert "errorlist" in answer.content.decode()


def test_sending_twice_answers_409_and_what_is_queued_is_not_taken_anew(
    client: Client, adam: User, trace: Trace
) -> None:
    client.force_login(adam)
    assert address("take_needed", trace) in client.get(address("experts")).content.decode()
    assert "no unit" in client.get(address("verify_trace", trace)).content.decode()
    assert client.post(address("send_to_experts", trace), {"reason": ""}).status_code == 422
    assert client.post(address("send_to_experts", trace), {"reason": "Hard."}).status_code == 302
    assert client.post(address("send_to_experts", trace), {"reason": "Hard."}).status_code == 409
    assert address("take_needed", trace) not in client.get(address("experts")).content.decode()
    assert client.post(address("take_needed", trace)).headers["Location"] == address("experts")
    assert ExpertItem.objects.count() == 1


def test_an_expert_takes_what_calls_for_one(client: Client, study: Study, adam: User, trace: Trace) -> None:
    client.force_login(adam)
    dispute = make_dispute(study)
    page = client.get(address("experts")).content.decode()
    assert page.index("disputed: the labels differ in the step") < page.index("no unit")
    assert reverse("dispute", args=["optics", dispute.token]) in page
    taken = client.post(address("take_needed", dispute.trace), follow=True).content.decode()
    assert "disputed: the labels differ in the step" in taken and "Put it back" in taken
    assert reverse("dispute", args=["optics", dispute.token]) in taken


def test_the_queue_waits_on_the_home_page_of_a_lead(client: Client, adam: User, item: ExpertItem) -> None:
    client.force_login(adam)
    assert "1 solution for an expert" in client.get(reverse("home")).content.decode()


# -- grading error ---------------------------------------------------------------------------------------------


def test_the_calculators_start_from_the_published_examples(client: Client, olga: User, study: Study) -> None:
    """Source: SPEC.md B1: 0.7312 against 0.7696, reversed; 400 responses worth 76.9."""
    client.force_login(olga)
    url = address("grading")
    page = client.get(url).content.decode()
    assert page.count("<math") >= 5
    example = {
        "theta_a": "0.72",
        "alpha_a": "0.04",
        "beta_a": "0",
        "theta_b": "0.64",
        "alpha_b": "0.36",
        "beta_b": "0",
    }
    page = client.get(url, {"calculate": "observed", **example}).content.decode()
    assert "0.7312" in page and "0.7696" in page and ">reversed<" in page
    page = client.get(
        url, {"calculate": "sample", "families": "50", "per_family": "8", "rho": "0.6"}
    ).content.decode()
    assert "76.9231" in page


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (
            {"calculate": "corrected", "observed": "0.5", "alpha": "0.6", "beta": "0.4"},
            "alpha + beta must be",
        ),
        ({"calculate": "corrected", "observed": "0.5", "alpha": "x", "beta": "0"}, "must be a number"),
        ({"calculate": "shift", "p": "nan", "alpha": "0", "beta": "0"}, "finite"),
        ({"calculate": "sample", "families": "1.5", "per_family": "8", "rho": "0"}, "whole number"),
        ({"calculate": "pays", "fixed": "1", "unresolved": "1", "expert": "40", "check": "1"}, "never pays"),
        ({"calculate": "observed"}, "must be a number"),
    ],
)
def test_outside_its_domain_a_calculator_says_so(
    client: Client, olga: User, study: Study, data: dict[str, str], words: str
) -> None:
    client.force_login(olga)
    answer = client.get(address("grading"), data)
    assert answer.status_code == 422
    assert words in answer.content.decode()


def test_a_split_fails_when_a_family_is_on_both_sides(client: Client, olga: User, study: Study) -> None:
    client.force_login(olga)
    url = address("grading")
    good = client.post(url, {"train": "a\nb", "test": "c"})
    assert good.status_code == 200 and "2 families here, 1 there" in good.content.decode()
    bad = client.post(url, {"train": "a\nb", "test": "b"})
    assert bad.status_code == 422 and "1 families are on both sides: b" in bad.content.decode()
