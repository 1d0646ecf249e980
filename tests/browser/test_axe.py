"""No page has a serious accessibility violation that axe-core finds: by role, light and dark, wide and narrow."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Browser, Page

from annotation.models import Study
from annotation.services.guideline import ensure_guideline
from annotation.services.keys import report_key
from annotation.services.labels import submit_label
from annotation.services.queue import claim_next
from core.models import User
from monitoring.report import services
from tests.adjudication.build import make_dispute, settle
from tests.annotation.build import make_check_item, make_traces
from tests.monitoring.report_build import make_monitor, make_run, small_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SERIOUS = ("serious", "critical")
OPTIONS = {"resultTypes": ["violations"]}
# What colours and the width can change; all else is the same document, looked at once.
LAYOUT = [
    "avoid-inline-spacing",
    "color-contrast",
    "css-orientation-lock",
    "link-in-text-block",
    "meta-viewport",
    "scrollable-region-focusable",
    "target-size",
    "aria-hidden-focus",
    "button-name",
    "link-name",
    "label",
    "bypass",
]
AXE = Axe()


@pytest.fixture
def scene(
    study: Study, ana: User, adam: User, olga: User, monkeypatch: pytest.MonkeyPatch
) -> dict[str, list[str]]:
    """A study in which something is on every page; return the addresses by person."""
    _, standard, traces = small_study(study)
    for slug in ("careful", "hasty"):
        monitor = make_monitor(study, slug)
        for condition in ("BLIND", "CERT"):
            said: dict[Any, Any] = {
                trace: ("ok", n % 3 > 0, 2 if n % 3 else None, 60.0) for n, trace in enumerate(traces)
            }
            make_run(monitor, condition, standard, said)
    monkeypatch.setattr(services.current_app, "send_task", lambda name, args, **_: None, raising=False)
    opened, decided = make_dispute(study), make_dispute(study)
    settle(decided, adam)
    read, reported, *_ = make_traces(study, 6)
    submit_label(trace=read, person=ana, final_correct=False, first_error_step=2, comment="a sign")
    report_key(trace=reported, person=ana, reason="a factor two")
    make_check_item(study, "worked")
    ensure_guideline(study=study)
    held = claim_next(study=study, person=ana)
    assert held is not None

    def address(name: str, *args: Any) -> str:
        return reverse(name, args=[study.slug, *args])

    return {
        "": [reverse("login")],
        "ana": [
            reverse("home"),
            reverse("tokens"),
            address("study"),
            address("queue"),
            address("annotate", held.token),
            address("annotate", read.token),
            address("guideline"),
            address("training"),
            "/no/such/page/",
            address("disputes"),
        ],
        "adam": [
            reverse("home"),
            address("study"),
            address("questions"),
            address("arm"),
            address("guideline_edit"),
            address("disputes"),
            address("dispute", opened.token),
            address("dispute", decided.token),
            address("adjudication_rules"),
            address("debates"),
            address("standards"),
            address("standard", standard.version),
            address("critical_roles", standard.version),
            address("report", standard.version),
            address("verification"),
            address("experts"),
            address("key_audits"),
        ],
        "olga": [
            reverse("home"),
            address("study"),
            address("queue_rules"),
            address("exports"),
            address("monitors"),
            address("concerns"),
            address("batches"),
            address("batch_new"),
            address("batch", 1),
        ],
    }


@pytest.mark.parametrize("person", ["", "ana", "adam", "olga"])
def test_axe_finds_no_serious_violation(
    scene: dict[str, list[str]], chromium: Browser, live_server: Any, person: str
) -> None:
    # Without motion: a colour on its way from light to dark is neither.
    context = chromium.new_context(
        base_url=live_server.url, viewport={"width": 1280, "height": 860}, reduced_motion="reduce"
    )
    if person:
        client = Client()
        client.force_login(User.objects.get(username=person))
        cookie = client.cookies["sessionid"].value
        context.add_cookies([{"name": "sessionid", "value": cookie, "url": live_server.url}])
    page = context.new_page()
    found = []
    for path in scene[person]:
        page.goto(path)
        for scheme, width, rules in (("light", 1280, None), ("dark", 400, LAYOUT)):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            page.set_viewport_size({"width": width, "height": 860})
            found += [f"{path} {scheme} {width}: {line}" for line in violations(page, rules)]
    context.close()
    assert found == []


def violations(page: Page, rules: list[str] | None = None) -> list[str]:
    """Return the serious violations of a page, by these rules or all; one a line with the elements that have them."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.axe_script)
    options = {**OPTIONS, "runOnly": rules} if rules else OPTIONS
    # No more than the violations comes over: the report on what is right is long.
    results = page.evaluate("options => axe.run(options).then(found => found.violations)", options)
    return [
        f"{one['id']} ({one['impact']}): " + "; ".join(node["html"][:160] for node in one["nodes"][:3])
        for one in results
        if one["impact"] in SERIOUS
    ]


def test_the_check_finds_a_violation_where_there_is_one(chromium: Browser) -> None:
    page = chromium.new_page()
    page.set_content('<html lang="en"><title>x</title><main><h1>x</h1><img src="data:,"></main></html>')
    assert any(line.startswith("image-alt") for line in violations(page))
    page.close()
