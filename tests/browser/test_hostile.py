"""Every text that somebody can write is inert in a real browser: it runs nothing, leads nowhere, turns nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import resolve, reverse
from django.utils import timezone
from playwright.sync_api import Browser, Page

from adjudication.models import Dispute
from adjudication.services.blindness import reveal_sources
from adjudication.services.patches import Change, patch_standard
from adjudication.services.rules import state_gap
from annotation.models import DebateRound, Role, Skip, Study
from annotation.services.guideline import ensure_guideline, publish_guideline
from annotation.services.invitations import invite
from annotation.services.keys import report_key
from annotation.services.queue import hold_trace
from annotation.services.sharing import pause_person
from core.models import Delivery, User, Webhook
from core.tokens import issue_token
from monitoring.engine import waking
from monitoring.models import Batch, Inquiry
from monitoring.report.services import compute_report
from tests import hostile
from tests.adjudication.build import make_dispute, settle
from tests.annotation.build import make_check_item
from tests.browser.test_axe import left_out
from tests.build import make_person, make_question, make_study, make_trace
from tests.hostile_study import ALL, HostileStudy
from tests.monitoring.build import make_model
from tests.verification.build import make_item, record_execution, specify
from tests.verification.test_answer_keys import RIGHT
from verification.comparators.sentences import read_rule
from verification.services.audits import audit_study, decide_audit
from verification.services.checks import run_checks
from verification.services.evidence import record_flags
from verification.services.specifications import map_obligation

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

NAME = hostile.NAME
# Pages that show nobody's own words, or, as the lists of what is to be done, little of them.
WITHOUT = {
    "login", "password", "guide", "guides", "queue", "people", "guideline_edit", "disputes", "debates", "exports",
    "standard_figures", "critical_roles", "report", "report_traces", "study_graders", "verification", "grading",
    "batch_new", "batch_progress",
}  # fmt: skip
# Notes whatever touches the mark, and each breach of the content policy, before anything of a page runs.
WATCH = f"""
window.happened = [];
Object.defineProperty(window, '{hostile.MARK}', {{
  get() {{ happened.push('read'); return () => happened.push('called'); }},
  set() {{ happened.push('set'); }},
}});
document.addEventListener('securitypolicyviolation', event =>
  happened.push(`${{event.violatedDirective}} ${{event.blockedURI}}`));
"""
# Characters that follow one another in a line of a block stand from left to right, but for those of a script that does
# not; and none is left in a text that turns the direction.
TURNED = r"""() => {
  const found = [], range = document.createRange();
  const place = (node, at) => {
    range.setStart(node, at);
    range.setEnd(node, at + 1);
    return range.getBoundingClientRect();
  };
  const blockOf = element => {
    while (getComputedStyle(element).display === 'inline') element = element.parentElement;
    return element;
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let before = null;
  for (let node; (node = texts.nextNode());) {
    const parent = node.parentElement;
    if (!node.data.trim() || parent.closest('textarea, option, select, svg, math, script')) continue;
    if (/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/.test(node.data))
      found.push(`turns: ${node.data.slice(0, 80)}`);
    const block = blockOf(parent);
    const [first, last] = [node.data.search(/\S/), node.data.trimEnd().length - 1];
    let left = before && before.block === block ? before : null;
    const looked = [...Array(Math.min(40, last + 1 - first)).keys()].map(n => first + n);
    for (const at of [...looked, last]) {
      const character = node.data[at], box = place(node, at);
      if (/[\u0590-\u08ff]/.test(character)) { left = null; continue; }
      if (!box.width) continue;
      if (left && Math.abs(left.top - box.top) < 2 && box.left < left.left - 1)
        found.push(`order: ${node.data.slice(first, 80)}`);
      left = {left: box.left, top: box.top};
    }
    const box = place(node, last);
    before = box.width ? {block, left: box.left, top: box.top} : null;
  }
  return found;
}"""


@pytest.fixture
def scene(study: Study, monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Put the corpus wherever somebody can write; return the addresses by person."""
    monkeypatch.setattr(waking, "send", lambda batch_id, *, drivers=1: None)
    Study.objects.filter(pk=study.pk).update(name=NAME)
    study.refresh_from_db()
    world = HostileStudy(study)
    _in_a_thread(world.drive)
    User.objects.update(display_name=NAME)
    amy, adam, olga = world.people.values()
    _desk(world, amy, adam, olga)
    decided = _rulings(world, adam)
    item = _checks(world, adam)
    _machines(world, olga)
    version = patch_standard(
        study=study,
        from_version=1,
        changes=[
            Change(world.settled.question.external_id, world.settled.response_label, {"first_error_step": 1})
        ],
        reason=ALL,
        actor=adam,
    ).standard
    for standard in (world.standard, version):
        compute_report(study=study, standard=standard, resamples=10, actor=adam)
    gated, blocks, audit = _beside(amy, adam)
    key = invite(study=study, roles=["annotator"], name=NAME, actor=olga).key
    run = (1, "always", "BLIND")

    def address(name: str, *args: Any) -> str:
        return reverse(name, args=[study.slug, *args])

    return {
        "": [reverse("login"), reverse("invitation", args=[key])],
        "amy": [
            reverse("home"),
            reverse("tokens"),
            reverse("confirm"),
            reverse("password"),
            reverse("guide", args=["annotator"]),
            reverse("guides"),
            address("study"),
            address("queue"),
            address("annotate", world.free.token),
            address("annotate", world.settled.token),
            address("guideline"),
            address("guideline_version", 2),
            address("training"),
            reverse("gate_item", args=gated),
            address("people"),
            "/no/<script>pwned()</script>/",
        ],
        "adam": [
            address("questions"),
            address("arm"),
            address("guideline_edit"),
            address("disputes"),
            address("disputes") + "?words=evil",
            address("dispute", f"{0:020x}"),
            address("dispute", decided.token),
            address("debates"),
            address("debate", decided.token),
            address("adjudication_rules"),
            address("standards"),
            address("standard", 2),
            address("standard_difference", 1, 2),
            address("standard_figures", 1, 2),
            address("critical_roles", 2),
            address("critical_role", 2, world.settled.token),
            address("report", 2),
            address("verification"),
            address("verify_trace", world.settled.token),
            address("experts"),
            address("expert_item", item),
            address("grading"),
            reverse("key_audits", args=[blocks]),
            reverse("key_audit", args=[blocks, audit]),
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
            address("study_graders", 2),
            address("report_traces", 2),
            address("batches"),
            address("batch_new") + "?monitors=asked&conditions=BLIND&standard=2",
            address("batch", 1),
            address("batch_progress", 1),
            address("run", *run),
            address("run", *run) + "?q=evil.example",
            address("run_trace", *run, world.settled.token),
        ],
    }


def _in_a_thread(work: Callable[[], None]) -> None:
    """Do work that has an event loop of its own: in the test's thread there is the browser's."""

    def done() -> None:
        work()
        connection.close()

    with ThreadPoolExecutor(1) as thread:
        thread.submit(done).result()


def _desk(world: HostileStudy, amy: User, adam: User, olga: User) -> None:
    ensure_guideline(study=world.study)
    publish_guideline(study=world.study, text=ALL, expected_version=1, actor=adam)
    hold_trace(world.free, amy)
    report_key(trace=world.free, person=amy, reason=ALL.replace("\0", ""))
    Skip.objects.create(trace=make_trace(make_question(world.study)), person=amy, reason=NAME)
    pause_person(study=world.study, person=User.objects.get(username="ana"), reason=NAME, actor=olga)
    make_check_item(world.study, "worked", explanation=ALL)
    issue_token(person=amy, scopes=["read"], name=NAME)


def _rulings(world: HostileStudy, adam: User) -> Dispute:
    decided, unusable = make_dispute(world.study), make_dispute(world.study)
    settle(decided, adam, rationale=ALL)
    DebateRound.objects.create(
        trace=decided.trace, name="R1", model=NAME, said={"is_correct": 1, "notes": ALL}, source=NAME
    )
    reveal_sources(dispute=decided, lead=adam, guess="human")
    settle(unusable, adam, choice="unusable", mark="", rationale=ALL, exclusion=NAME)
    state_gap(study=world.study, trace=world.free, reason=NAME, actor=adam)
    return decided


def _checks(world: HostileStudy, adam: User) -> str:
    trace = world.settled
    obligations = [{"id": "one", "text": ALL[:900], "needs": []}]
    specify(trace.question, obligations=obligations, limits={"max_calls": 1}, assumptions=[ALL])
    record_execution(trace, calls=[{"tool": NAME, "arguments": ALL}] * 2, attempts=1)
    flags = [{"step": 1}, {"value": hostile.TEXTS["bidi"]}]
    record_flags(trace=trace, flags=[{"kind": "gap", "concern": ALL, **at} for at in flags], raised_by=NAME)
    map_obligation(trace=trace, obligation="one", steps=[1], status="failed", reason=ALL, author=adam)
    run_checks(traces=[trace])
    return make_item(trace, reason=ALL).token


def _machines(world: HostileStudy, olga: User) -> None:
    study, now = world.study, timezone.now()
    make_model(study, "asked", model=NAME, api_model=NAME, base_url=f"javascript:{hostile.RUN}")
    Batch.objects.update(status_reason=ALL[:300], source=NAME)
    webhook = Webhook.objects.create(
        scope=study.slug,
        token="0" * 20,
        url=f"javascript:{NAME}",
        events="label.submitted",
        created_by=olga,
        created_at=now,
    )
    Delivery.objects.create(
        webhook=webhook,
        token="1" * 20,
        event="label.submitted",
        payload={"trace": ALL},
        status="failed",
        problem=ALL[:200],
        created_at=now,
    )
    for number, kind in enumerate(Inquiry.Kind):
        Inquiry.objects.create(
            study=study,
            kind=kind,
            key=f"{number} {NAME}",
            number=1,
            owner=NAME,
            model=NAME,
            started_at=now,
            finished_at=now,
            reply=ALL,
            error_kind="permanent",
            error=ALL,
        )


def _beside(amy: User, adam: User) -> tuple[list[str], str, int]:
    """Two studies more: one with a gate before amy, one whose keys are audited."""
    gated = make_study(slug="gated", name=NAME)
    make_person("gil", study=gated, roles=[Role.LEAD])
    gated.memberships.create(person=amy, role=Role.ANNOTATOR)
    judged = make_trace(make_question(gated, statement=ALL), steps=[ALL, ALL])
    gate = make_check_item(gated, "gate", explanation=ALL, trace=judged)
    blocks = make_study(slug="blocks", name=NAME)
    blocks.memberships.create(person=adam, role=Role.LEAD)
    for place, (key, answer) in enumerate(RIGHT.items()):
        question = make_question(blocks, answer=key, subject="blocks", external_id=f"block-{place}")
        make_trace(question, steps=[f"{ALL}\n{answer}"], generator=NAME)
    rule = read_rule("stacked-blocks")
    kept = audit_study(study=blocks, title=NAME, rule=rule, domain="blocks", actor=adam, resamples=10)
    decide_audit(kept=kept, accepted=False, reason=ALL, actor=adam)
    return [gated.slug, gate.trace.token], blocks.slug, kept.number


class _Watched:
    """A window that is told of what no text may do; `found` lists what happened, by address."""

    def __init__(self, chromium: Browser, url: str) -> None:
        self.url = url
        self.found: list[str] = []
        self.without: list[str] = []
        self.context = chromium.new_context(base_url=url, viewport={"width": 1280, "height": 860})
        self.context.add_init_script(WATCH)
        self.page = self._watch(self.context.new_page())
        self.context.on("page", self._opened)

    def _opened(self, page: Page) -> None:
        self.found.append(f"a window was opened: {page.url}")

    def _watch(self, page: Page) -> Page:
        page.on("dialog", lambda dialog: (self.found.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("pageerror", lambda error: self.found.append(f"error: {error}"))
        page.on("request", lambda request: self._asked(request.url))
        return page

    def _asked(self, address: str) -> None:
        if not address.startswith((f"{self.url}/", "data:,")):
            self.found.append(f"request: {address}")

    def sign_in(self, person: str) -> None:
        self.context.clear_cookies()
        if person:
            client = Client()
            client.force_login(User.objects.get(username=person))
            cookie = client.cookies["sessionid"].value
            self.context.add_cookies([{"name": "sessionid", "value": cookie, "url": self.url}])

    def serve(self, text: str) -> None:
        """Read a page that is nothing but this text, under no content policy."""
        html = f"<!doctype html><meta charset=utf-8><body>{text}"
        self.page.route("**/bare/", lambda route: route.fulfill(body=html, content_type="text/html"))
        self.read("/bare/")
        self.page.unroute("**/bare/")

    def read(self, path: str) -> int:
        """Open an address and look at everything on it, what is folded away too; return the answer's status."""
        answer = self.page.goto(path)
        assert answer is not None
        arrived = self.page.url
        if "html" in answer.headers.get("content-type", ""):
            self.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
            self.found += self.page.evaluate(TURNED)
            if hostile.MARK not in self.page.evaluate(
                "(document.querySelector('main') ?? document.body).innerText"
            ):
                self.without.append(path)
        self.found += self.page.evaluate("window.happened")
        if self.page.url != arrived or len(self.page.frames) > 1:
            self.found.append(f"led to {self.page.url}")
        self.found = [line if line.startswith("/") else f"{path}: {line}" for line in self.found]
        return answer.status


@pytest.fixture
def watched(chromium: Browser, served: Any, live_server: Any) -> Iterator[_Watched]:
    window = _Watched(chromium, live_server.url)
    yield window
    window.context.close()
    assert served.drained(live_server.thread.host, live_server.thread.port), "a request does not end"


def test_no_text_runs_leads_away_or_turns_another(scene: dict[str, list[str]], watched: _Watched) -> None:
    assert left_out(scene) == set()
    unexpected = {}
    for person, paths in scene.items():
        watched.sign_in(person)
        for path in paths:
            if (status := watched.read(path)) != 200:
                unexpected[path] = status
    assert sorted(unexpected.values()) == [403, 404], unexpected
    assert watched.found == []
    # The texts were there to be read, or nothing would be proved.
    assert {resolve(path.split("?")[0]).url_name for path in watched.without if "/no/" not in path} <= WITHOUT
    # Labels are taken home as a file: nothing of them is shown.
    watched.page.goto(next(path for path in scene["olga"] if path.endswith("/labels/")))
    with watched.page.expect_download() as taken:
        watched.page.get_by_role("button", name="Download").first.click()
    assert taken.value.suggested_filename.endswith((".csv", ".jsonl", ".json"))
    assert watched.found == []


WOULD = {
    hostile.TEXTS["script"]: ("set", "dialog: ", "request: "),
    hostile.TEXTS["handlers"]: ("set", "dialog: "),
    "<script>missing()</script>": ("error: ",),
    "<iframe srcdoc=x></iframe>": ("led to",),
    "<p>a <b>\u202eb c</b> d</p>": ("turns: ",),
    f"<p>By <b>{NAME[-3:]}</b> 12 of 40</p>": ("order: ",),
}


def test_the_watch_notices_what_a_page_would_do(watched: _Watched) -> None:
    for text, expected in WOULD.items():
        watched.found = []
        watched.serve(text)
        for word in expected:
            assert any(word in line for line in watched.found), (word, watched.found)
