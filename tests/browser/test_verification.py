"""Verification in a real browser: an expert leaves an item open, the graph is drawn, pages fit a phone."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.core.management import call_command
from django.urls import reverse
from playwright.sync_api import Page, expect

from adjudication.services.standards import freeze_standard
from annotation.models import Study, Trace
from core.models import User
from tests.adjudication.build import both
from tests.build import make_question, make_trace
from tests.monitoring.report_build import make_monitor, make_run
from tests.verification.build import NUMBER, OBLIGATIONS, make_item, record_execution, specify
from tests.verification.test_answer_keys import RIGHT, SAMPLE
from verification.comparators.sentences import read_rule
from verification.services.audits import audit_study
from verification.services.checks import run_checks
from verification.services.evidence import record_flags
from verification.services.specifications import map_obligation

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

Open = Callable[..., Page]


@pytest.fixture
def trace(study: Study, adam: User) -> Trace:
    """A trace with something in every layer, waiting for an expert."""
    question = make_question(study, answer="$12\\,\\mathrm{m}$", statement="A ball falls. How far?")
    wide = [
        *OBLIGATIONS,
        {"id": "units", "text": "The units agree", "needs": ["forces"]},
        {"id": "limit", "text": "The limit exists uniformly in the parameter", "needs": ["balance", "units"]},
    ]
    specify(question, obligations=wide, rules=[NUMBER], limits={"max_calls": 1}, assumptions=["No drag."])
    steps = [
        "(1) The forces balance: $2 + 2 = 4$.\n",
        "(2) So $$s = \\tfrac{1}{2} g t^2$$ and $3 \\cdot 4 = 13$.\n",
        "(3) \\boxed{12\\,\\mathrm{m}}",
    ]
    made = make_trace(question, steps=steps)
    record_execution(made, calls=[{"tool": "python", "arguments": "3*4"}] * 2, attempts=1)
    flags = [{"kind": "gap", "concern": "Why may $t$ be taken as fixed?", "step": 3}]
    record_flags(trace=made, flags=flags, raised_by="judge/v1")
    both(made, (True, None), (True, None))
    other = make_trace(make_question(study))
    both(other, (True, None), (True, None))
    record_flags(trace=other, flags=[{**flags[0], "step": 1}], raised_by="judge/v1")
    for name, mapped in (("forces", [1]), ("balance", [2]), ("answer", [3]), ("units", [2])):
        map_obligation(trace=made, obligation=name, steps=mapped, status="valid", reason="", author=adam)
    run_checks(traces=[made])
    make_item(made)
    return made


def test_an_expert_leaves_an_item_open_and_the_label_is_unresolved(
    open_page: Open, trace: Trace, adam: User
) -> None:
    page = open_page(adam, path=reverse("experts", args=[trace.study.slug]))
    page.get_by_role("link", name=trace.question.external_id).click()
    expect(page.get_by_role("heading", name="Layer 1: code and rules")).to_be_visible()
    expect(page.get_by_text("the left side is 12").first).to_be_visible()
    expect(page.get_by_text("gap in the reasoning")).to_be_visible()
    expect(page.locator("svg.obligations rect")).to_have_count(5)
    expect(page.locator("svg.obligations .is-failed")).to_have_count(2)
    page.get_by_role("button", name="Take it").click()
    page.get_by_label("It stays open").check()
    page.get_by_role("button", name="Record").click()
    expect(page.get_by_text("Say why, in a sentence.")).to_be_visible()
    expect(page.get_by_label("It stays open")).to_be_checked()
    page.get_by_label("Why", exact=True).fill("The bound is not uniform in t.")
    page.get_by_role("button", name="Record").click()
    expect(page).to_have_url(re.compile(r"/experts/$"))
    expect(page.get_by_text("left open", exact=True)).to_be_visible()
    row = page.get_by_role("row").filter(has_text="1 concern raised by models")
    row.get_by_role("button", name="Take it").click()
    expect(page.get_by_role("button", name="Put it back")).to_be_visible()
    page.get_by_label("It is valid").check()
    page.get_by_label("Why", exact=True).fill("It may be: $t$ is given.")
    page.get_by_role("button", name="Record").click()
    expect(page.get_by_role("button", name="Take it")).to_have_count(0)
    call_command("freeze_standard", study=trace.study.slug)
    page.goto(reverse("standard", args=[trace.study.slug, 1]))
    expect(page.get_by_text("left open by an expert: The bound is not uniform in t.")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_a_phone_and_can_be_read_by_all(
    open_page: Open, study: Study, trace: Trace, adam: User, scheme: str
) -> None:
    for place, key in enumerate(SAMPLE[::10]):
        question = make_question(study, answer=key, subject="blocks", external_id=f"b{place}")
        make_trace(question, steps=[RIGHT[key]])
    rule = read_rule("stacked-blocks")
    audit_study(study=study, title="Blocks", rule=rule, domain="blocks", actor=adam, resamples=10)
    slug = study.slug
    item = trace.expert_items.get()
    paths = {
        "traces": reverse("verification", args=[slug]),
        "trace": reverse("verify_trace", args=[slug, trace.token]),
        "experts": reverse("experts", args=[slug]),
        "item": reverse("expert_item", args=[slug, item.token]),
        "audits": reverse("key_audits", args=[slug]),
        "audit": reverse("key_audit", args=[slug, 1]),
        "grading": reverse("grading", args=[slug]),
        "graders": reverse("study_graders", args=[slug, 1]),
        "report": reverse("report", args=[slug, 1]),
    }
    verdicts = {trace: ("ok", True, 2)}
    standard = freeze_standard(study=study).standard
    make_run(make_monitor(study, "m"), "BLIND", standard, verdicts)
    page = open_page(adam, color_scheme=scheme, viewport={"width": 400, "height": 800})
    for name, path in paths.items():
        page.set_viewport_size({"width": 400, "height": 800})
        page.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 400, name
        found = Axe().run(page)
        assert found.violations_count == 0, f"{name}: {found.generate_report()}"
        page.set_viewport_size({"width": 1280, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= 1280, name
