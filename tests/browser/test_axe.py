"""No page has a serious accessibility violation that axe-core finds, by role, light and dark; each fits a telephone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.test import Client
from django.urls import resolve, reverse
from playwright.sync_api import Browser, BrowserContext, Page

from annotation.models import Role, Study
from annotation.services.guideline import ensure_guideline
from annotation.services.invitations import invite
from annotation.services.keys import report_key
from annotation.services.labels import submit_label
from annotation.services.queue import claim_next
from core.models import User
from core.webhooks import add_webhook
from monitoring.report.services import compute_report
from tests.adjudication.build import make_dispute, settle
from tests.annotation.build import make_check_item, make_traces
from tests.build import make_label, make_person, make_question, make_study, make_trace
from tests.monitoring.build import make_model
from tests.monitoring.report_build import make_monitor, make_run, make_standard, small_study
from tests.verification.build import OBLIGATIONS, make_item, record_execution, specify
from tests.verification.test_answer_keys import RIGHT
from verification.comparators.sentences import read_rule
from verification.services.audits import audit_study
from verification.services.checks import run_checks

Scene = dict[str, list[str]]
Scheme = Literal["light", "dark"]

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SERIOUS = ("serious", "critical")
# What takes time and is not used: style sheets loaded again, frames (there are none), a selector for each element.
OPTIONS = {"resultTypes": ["violations"], "preload": False, "iframes": False, "selectors": False}
SCRIPT = Axe().axe_script
SCHEMES: tuple[Scheme, Scheme] = ("light", "dark")
MATRIX = Path(__file__).parents[1] / "page_matrix.json"
# Answers that are no pages.
NO_PAGES = ("healthz", "/report.json", "/methods.txt", "/progress/")


@pytest.fixture
def scene(study: Study, ana: User, adam: User, olga: User) -> Scene:
    """A study in which something is on every page; return the addresses by person."""
    _, standard, traces = small_study(study)
    make_standard(study, dict.fromkeys(traces, (False, 1)))
    for slug in ("careful", "hasty"):
        monitor = make_monitor(study, slug)
        for condition in ("BLIND", "CERT"):
            said: dict[Any, Any] = {
                trace: ("ok", n % 3 > 0, 2 if n % 3 else None, 60.0) for n, trace in enumerate(traces)
            }
            make_run(monitor, condition, standard, said)
    make_model(study, "asked", model="v/asked")
    compute_report(study=study, standard=standard, actor=adam, resamples=20)
    opened, decided = make_dispute(study), make_dispute(study)
    settle(decided, adam)
    read, reported, checked, *_ = make_traces(study, 6)
    submit_label(trace=read, person=ana, final_correct=False, first_error_step=2, comment="a sign")
    report_key(trace=reported, person=ana, reason="a factor two")
    specify(checked.question, obligations=OBLIGATIONS, limits={"max_calls": 1}, assumptions=["No losses."])
    record_execution(checked, calls=[{"tool": "python", "arguments": "123.3/20.8"}] * 2, attempts=1)
    run_checks(traces=[checked])
    make_check_item(study, "worked")
    ensure_guideline(study=study)
    held = claim_next(study=study, person=ana)
    assert held is not None
    # Whoever has a gate before them gets no trace: it is another person's.
    gated = make_study(slug="gated")
    make_person("gil", study=gated, roles=[Role.ANNOTATOR])
    gate = make_check_item(gated, "gate")
    blocks = make_study(slug="blocks")
    make_person("kay", study=blocks, roles=[Role.LEAD])
    for place, (key, answer) in enumerate(RIGHT.items()):
        question = make_question(blocks, answer=key, subject="blocks", external_id=f"block-{place}")
        make_trace(question, steps=[answer])
    rule = read_rule("stacked-blocks")
    audit_study(study=blocks, title="Blocks", rule=rule, domain="blocks", actor=adam, resamples=20)
    pilot = make_study(slug="pilot", kind=Study.Kind.PILOT)
    make_person("pia", study=pilot, roles=[Role.LEAD])
    for trace in make_traces(pilot, 2):
        for name, step in (("ana", 2), ("ben", None)):
            make_label(trace, labeller=name, final_correct=step is None, first_error_step=step)
    invited = invite(study=study, roles=["annotator"], name="Ida", actor=olga)
    add_webhook(scope=study.slug, url="https://example.org/hook", events=["label.submitted"], actor=olga)

    def address(name: str, *args: Any) -> str:
        return reverse(name, args=[study.slug, *args])

    run = (1, "careful", "BLIND")
    return {
        "": [reverse("login"), reverse("invitation", args=[invited.key])],
        "ana": [
            reverse("home"),
            reverse("tokens"),
            reverse("confirm"),
            reverse("password"),
            reverse("guides"),
            reverse("guide", args=["annotator"]),
            address("study"),
            address("queue"),
            address("annotate", held.token),
            address("annotate", read.token),
            address("guideline"),
            address("training"),
            "/no/such/page/",
            address("disputes"),
        ],
        "gil": [
            reverse("training", args=[gated.slug]),
            reverse("gate_item", args=[gated.slug, gate.trace.token]),
        ],
        "kay": [reverse("key_audits", args=[blocks.slug]), reverse("key_audit", args=[blocks.slug, 1])],
        "pia": [reverse("pilot", args=[pilot.slug])],
        "adam": [
            address("study"),
            address("questions"),
            address("arm"),
            address("guideline_version", 1),
            address("guideline_edit"),
            address("disputes"),
            address("dispute", opened.token),
            address("dispute", decided.token),
            address("adjudication_rules"),
            address("debates"),
            address("standards"),
            address("standard", standard.version),
            address("standard_difference", 1, 2),
            address("critical_roles", standard.version),
            address("critical_role", standard.version, traces[-1].token),
            address("report", standard.version),
            address("standard_figures", 1, 2),
            address("verification"),
            address("verify_trace", checked.token),
            address("grading"),
            address("experts"),
            address("expert_item", make_item(checked).token),
        ],
        "olga": [
            address("study"),
            address("people"),
            address("webhooks"),
            address("queue_rules"),
            address("training"),
            address("exports"),
            address("monitors"),
            address("concerns"),
            address("debate_order"),
            address("generation_order"),
            address("study_graders", standard.version),
            address("report", standard.version),
            address("report_traces", standard.version),
            address("batches"),
            address("batch_new"),
            address("batch", 1),
            address("run", *run),
            address("run_trace", *run, traces[0].token),
        ],
    }


def test_axe_finds_no_serious_violation_and_no_page_is_too_wide(
    scene: Scene, chromium: Browser, live_server: Any
) -> None:
    """Each page once by all rules; what the other scheme can change is the contrast, and then as it is printed.

    One test for all people: the study takes its time, and is the same for everybody. A page comes in the scheme
    in which the last one was left.
    """
    assert left_out(scene) == set()
    found, unexpected = [], {}
    for person, paths in scene.items():
        context = signed_in(chromium, live_server.url, person)
        page = context.new_page()
        scheme, other = SCHEMES
        for path in paths:
            answer = page.goto(path)
            assert answer is not None
            if answer.status != 200:
                unexpected[path] = answer.status
            found += [f"{path} {scheme}: {line}" for line in violations(page)]
            page.emulate_media(color_scheme=other)
            found += [f"{path} {other}: {line}" for line in violations(page, ["color-contrast"])]
            found += [f"{path} printed: {line}" for line in unprintable(page)]
            found += too_wide(page, path)
            scheme, other = other, scheme
        context.close()
    assert sorted(unexpected.values()) == [403, 404], unexpected
    assert found == []


def left_out(scene: Scene) -> set[str]:
    """Return the routes of pages that the table of pages shows to somebody and the scene lacks."""
    table = json.loads(MATRIX.read_text(encoding="utf-8"))
    shown = {route for route, row in table.items() if route != "people" and "200" in row["GET"].split()}
    looked_at = {
        resolve(path.split("?")[0]).route for paths in scene.values() for path in paths if "/no/" not in path
    }
    return {route for route in shown - looked_at if not route.endswith(NO_PAGES)}


def signed_in(chromium: Browser, url: str, person: str) -> BrowserContext:
    """Return a window of a person's, or of nobody's."""
    # Without motion: a colour on its way from light to dark is neither.
    context = chromium.new_context(
        base_url=url,
        viewport={"width": 1280, "height": 860},
        reduced_motion="reduce",
        color_scheme=SCHEMES[0],
    )
    context.add_init_script(SCRIPT)
    if person:
        client = Client()
        client.force_login(User.objects.get(username=person))
        context.add_cookies([{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": url}])
    return context


def too_wide(page: Page, path: str) -> list[str]:
    """Return what is wider than a telephone of 400 px; the window is as it was afterwards."""
    page.set_viewport_size({"width": 400, "height": 860})
    width = page.evaluate("document.documentElement.scrollWidth")
    page.set_viewport_size({"width": 1280, "height": 860})
    return [f"{path}: {width} px wide at 400"] if width > 400 else []


def violations(page: Page, rules: list[str] | None = None) -> list[str]:
    """Return the serious violations of a page, by these rules or all; one a line with the elements that have them."""
    options = {**OPTIONS, "runOnly": rules} if rules else OPTIONS
    # No more than the violations comes over: the report on what is right is long.
    results = page.evaluate("options => axe.run(options).then(found => found.violations)", options)
    return [
        f"{one['id']} ({one['impact']}): " + "; ".join(node["html"][:160] for node in one["nodes"][:3])
        for one in results
        if one["impact"] in SERIOUS
    ]


def unprintable(page: Page) -> list[str]:
    """Return what a page would print that paper should not show: a dark ground, the masthead, a coloured link."""
    page.emulate_media(media="print")
    found: list[str] = page.evaluate(
        """() => {
            const out = [], style = element => getComputedStyle(element);
            if (style(document.body).backgroundColor !== "rgb(255, 255, 255)") out.push("ground");
            const masthead = document.querySelector(".masthead");
            if (masthead && style(masthead).display !== "none") out.push("masthead");
            for (const link of document.querySelectorAll("main a"))
                if (link.checkVisibility() && style(link).color === "rgb(31, 78, 140)")
                    out.push(link.outerHTML.slice(0, 100));
            return out;
        }"""
    )
    page.emulate_media(media="screen")
    return found


def test_the_check_finds_a_violation_where_there_is_one(chromium: Browser) -> None:
    page = chromium.new_page()
    page.add_init_script(SCRIPT)
    page.goto("about:blank")
    page.set_content('<html lang="en"><title>x</title><main><h1>x</h1><img src="data:,"></main></html>')
    assert any(line.startswith("image-alt") for line in violations(page))
    page.close()
