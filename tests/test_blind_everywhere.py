"""No page tells a lead who said what before the decision, whatever other roles they have.

Every address of the site is found in the address table and classified; one that is not fails the test. The
arms' labels, with their words, are exchanged in the database, and every answer must be the same to the byte.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, ClassVar, NamedTuple

import pytest
from django.core.cache import cache
from django.db import transaction
from django.test import Client, override_settings
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from adjudication.models import Dispute
from adjudication.services.blindness import open_arguments
from adjudication.services.disputes import recompute_disputes
from adjudication.services.rules import NewRules, set_rules, state_gap
from adjudication.services.standards import freeze_standard
from annotation.models import DebateRound, Role, Study
from monitoring.models import Batch, Monitor, Run, Verdict
from monitoring.report.services import compute_report
from tests.build import make_label, make_person, make_question, make_study, make_trace

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
# Tokens against forgery are random on every page: 64 letters and digits, unlike a sha256 not all of them small.
OWN_HEADERS = {"Expires", "X-Request-ID"}  # of the moment, and of the one request
TOKEN = re.compile(rb"\b(?=[0-9a-z]*[A-Z])[0-9A-Za-z]{64}\b")

# What a lead, who may hold every other role too, gets before deciding: a page ("shown"), a refusal as long as
# disputes are open ("refused"), nothing, since this study has none of it ("nothing"), or nothing to read, since the
# address only takes orders ("orders").
PAGES = {
    "healthz": "shown",
    "metrics": "nothing",
    "login": "shown",
    "home": "shown",
    "tokens": "shown",
    "guide": "shown",
    "guides": "shown",
    "confirm": "shown",
    "password": "shown",
    "token_new": "orders",
    "study": "shown",
    "questions": "shown",
    "arm": "shown",
    "exports": "shown",
    "guideline": "shown",
    "queue": "shown",
    "annotate": "shown",
    "disputes": "shown",
    "dispute": "shown",
    "debates": "shown",
    "adjudication_rules": "shown",
    "standards": "shown",
    "standard": "shown",
    "standard_difference": "shown",
    "critical_roles": "shown",
    "critical_role": "shown",
    "standard_figures": "shown",
    "report_latest": "shown",
    "report": "shown",
    "report_json": "shown",
    "report_methods": "shown",
    "report_traces": "refused",
    "study_graders_latest": "refused",
    "study_graders": "refused",
    "concerns": "shown",
    "concerns_ask": "orders",
    "monitors": "shown",
    "debate_order": "shown",
    "generation_order": "shown",
    "monitor_add": "orders",
    "batches": "shown",
    "batch_new": "shown",
    "batch": "shown",
    "batch_progress": "shown",
    "training": "shown",
    "guideline_version": "shown",
    "queue_rules": "shown",
    "webhooks": "shown",
    "verification": "shown",
    "verify_trace": "shown",
    "grading": "shown",
    "experts": "shown",
    "key_audits": "shown",
    "new_key_audit": "orders",
    "guideline_edit": "shown",
    "run": "shown",
    "run_trace": "shown",
    "run_download": "orders",
    "run_inspect": "orders",
    "pilot": "nothing",
    "gate": "shown",
    "gate_item": "nothing",
    "check_items_add": "orders",
    "change_marks": "orders",
    "expert_item": "nothing",
    "key_audit": "nothing",
    "change_rules": "orders",
    "webhook_add": "orders",
    "webhook_remove": "orders",
    "set_priority": "orders",
    "pause_person": "orders",
    "resume_person": "orders",
    "move_hold": "orders",
    "hold": "orders",
    "check_trace": "orders",
    "send_to_experts": "orders",
    "map_steps": "orders",
    "take_needed": "orders",
    "take_item": "orders",
    "put_back_item": "orders",
    "rule_on_item": "orders",
    "decide_key_audit": "orders",
    "report_audited_key": "orders",
    "debate": "refused",
    "download_labels": "refused",
    "draft": "orders",
    "logout": "orders",
    "theme": "orders",
    "token_revoke": "orders",
    "oidc_authentication_init": "nothing",
    "oidc_authentication_callback": "nothing",
    "people": "shown",
    "invite": "orders",
    "invitation_revoke": "orders",
    "invitation": "nothing",
    "queue_next": "orders",
    "report_key": "orders",
    "skip": "orders",
    "recompute_disputes": "orders",
    "decide": "orders",
    "undo_decision": "orders",
    "state_gap": "orders",
    "open_arguments": "orders",
    "reveal_sources": "orders",
    "state_study_gap": "orders",
    "freeze": "orders",
    "code_role": "orders",
    "take_back_role": "orders",
    "report_compute": "orders",
    "batch_pause": "orders",
    "batch_resume": "orders",
    "batch_cancel": "orders",
    "batch_retry": "orders",
}
QUERIES = {
    "disputes": [
        "?state=waiting",
        "?state=decided",
        "?kind=step",
        "?kind=single",
        "?order=weight",
        "?words=q",
    ],
    "standard_figures": ["?figures=all"],
    "critical_roles": ["?kind=uncoded"],
}
# Orders that end the session, or wake workers.
NOT_SENT = {"logout", "batch_resume", "batch_retry", "report_compute", "token_revoke"}


PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")


def all_routes(patterns: Any = None, before: str = "") -> Iterator[tuple[str, str]]:
    """Yield (name, route as it is written) of every address but the API's, which tests/api walks likewise."""
    for pattern in get_resolver().url_patterns if patterns is None else patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            if route != "api/":
                yield from all_routes(pattern.url_patterns, route)
        elif isinstance(pattern, URLPattern):
            yield pattern.name or route, route


def test_every_address_is_classified() -> None:
    assert {name for name, _ in all_routes()} == set(PAGES), (
        "say in PAGES what a lead gets there before deciding"
    )


class _Rollback(Exception):
    pass


class Site:
    """A study with a bit of everything, and a person who holds every role in it."""

    VALUES: ClassVar[dict[str, object]] = {
        "version": 1,
        "reader": "lead",
        "other": 1,
        "number": 1,
        "username": "ana",
        "monitor": "always",
        "condition": "BLIND",
        "prefix": "x",
        "key": "no-such-invitation",
    }

    def __init__(self, study: Study, client: Client) -> None:
        self.study, self.client = study, client
        self.lea = make_person("lea", study=study, roles=list(Role))
        self.ana = make_person("ana", study=study, roles=[Role.ANNOTATOR])
        client.force_login(self.lea)
        question = make_question(study)
        self.agreed = [make_trace(question) for _ in range(3)]
        for trace, said in zip(self.agreed, ((True, None), (True, 2), (False, 3)), strict=True):
            for arm, labeller in (("human", "ana"), ("debate", "debate")):
                make_label(
                    trace,
                    arm=arm,
                    labeller=labeller,
                    final_correct=said[0],
                    first_error_step=said[1],
                    created_at=NOW,
                )
        self.disputed = [make_trace(make_question(study)) for _ in range(4)]
        for trace in self.disputed:
            DebateRound.objects.create(
                trace=trace, name="R1", model="maker/debater", said={"is_correct": 1}, source="test"
            )
        study.refresh_from_db()

    def fill(self, *, exchanged: bool = False, moved: bool = False) -> None:
        """Put labels on the disputed traces; with `exchanged` each arm says what the other had said."""
        first = ((True, 2, "The second step loses a sign, so it all fails from there."),)
        values = [
            (*first, (True, 4, "In step four the boundary term is dropped without a reason.")),
            ((True, None, ""), (False, None, "wrong unit in the end")),
            ((False, 1, "no"), (True, None, "fine")),
            ((True, 3, ""), (False, 5, "")),
        ]
        for trace, (human, debate) in zip(self.disputed, values, strict=True):
            if exchanged:
                human, debate = debate, human
            if moved:
                human = (human[0], 5, human[2])
            for arm, labeller, (right, step, words) in (
                ("human", "ana", human),
                ("debate", "debate", debate),
            ):
                make_label(
                    trace,
                    arm=arm,
                    labeller=labeller,
                    person=self.ana if arm == "human" else None,
                    final_correct=right,
                    first_error_step=step,
                    comment=words,
                    created_at=NOW,  # its default took hold of the real clock before it was stopped
                )
        # The last dispute waits for a second reader; on the others the lead states that none will come.
        Study.objects.filter(pk=self.study.pk).update(overlap=2)
        self.study.refresh_from_db()
        set_rules(study=self.study, new=NewRules(arguments_open=True), actor=self.lea)
        for trace in self.disputed[:3]:
            state_gap(study=self.study, trace=trace, reason="one reader only", actor=self.lea)
        recompute_disputes(study=self.study)
        for number, trace in enumerate(self.disputed):
            Dispute.objects.filter(trace=trace).update(token=f"{number:020x}")
        open_arguments(dispute=Dispute.objects.get(trace=self.disputed[0]), lead=self.lea)
        for _ in range(2):
            freeze_standard(study=self.study, actor=self.lea, allow_open=True, note="so far")
        standard = self.study.standards.get()
        monitor = Monitor.objects.create(study=self.study, slug="always", provider="always")
        batch = Batch.objects.create(
            study=self.study, standard=standard, number=1, status=Batch.Status.FINISHED, token="b" * 20
        )
        run = Run.objects.create(
            batch=batch, monitor=monitor, condition="BLIND", status=Run.Status.FINISHED, finished_at=NOW
        )
        for trace in [*self.agreed, *self.disputed]:
            Verdict.objects.create(run=run, trace=trace, outcome="ok", has_error=True, first_error_step=1)
        compute_report(study=self.study, standard=standard, actor=self.lea)

    def addresses(self) -> Iterator[tuple[str, str]]:
        """Yield (name, address) for everything in the table, with this study's values in the places."""
        disputes = [f"{number:020x}" for number in range(len(self.disputed))]
        traces = [trace.token for trace in (self.agreed[0], *self.disputed)]
        values = {**self.VALUES, "slug": self.study.slug}
        for name, route in all_routes():
            wanted = set(PARAMETER.findall(route))
            kept = {key: value for key, value in values.items() if key in wanted}
            before = route.split("<slug:token>")[0].split("<str:token>")[0].rstrip("/").rsplit("/", 1)[-1]
            tokens = {"disputes": disputes, "roles": [self.agreed[1].token]}.get(before, traces)
            for token in tokens if "token" in wanted else [None]:
                with_token = {**kept, **({"token": token} if token else {})}
                for query in ["", *QUERIES.get(name, [])]:
                    yield name, reverse(name, kwargs=with_token) + query

    def read(self) -> list[tuple[str, str, int, bytes]]:
        """Read every page, then give every order with nothing in it; refusals are answers too."""
        answers = []
        listed = list(self.addresses())
        for name, address in listed:
            answer = self.client.get(address)
            content = b"".join(answer.streaming_content) if answer.streaming else answer.content
            told = [(header, value) for header, value in answer.headers.items() if header not in OWN_HEADERS]
            headers = repr(sorted(told)).encode()
            answers.append((name, f"GET {address}", answer.status_code, TOKEN.sub(b"", content) + headers))
        for name, address in listed:
            if name in NOT_SENT or PAGES[name] == "shown" or name == "freeze":
                continue
            answer = self.client.post(address, {})
            content = b"".join(answer.streaming_content) if answer.streaming else answer.content
            answers.append((name, f"POST {address}", answer.status_code, TOKEN.sub(b"", content)))
        return answers


def _under(fill: Callable[[], None], read: Callable[[], Any]) -> Any:
    found: Any = None
    cache.clear()
    with pytest.raises(_Rollback), transaction.atomic():
        fill()
        found = read()
        raise _Rollback
    return found


class _Read(NamedTuple):
    """What every address answered: as it is, with the arms exchanged, with another value in one label."""

    there: list[Any]
    exchanged: list[Any]
    moved: list[Any]
    # Where two readings of the same differ by themselves; looked for if the exchange made a difference.
    unsteady: list[Any]
    response_label: str


@pytest.fixture(scope="module")
def read(django_db_setup: None, django_db_blocker: Any) -> _Read:
    """The readings, each taken once for all tests of this file; nothing of them stays in the database."""
    found: list[_Read] = []
    with (
        django_db_blocker.unblock(),
        pytest.MonkeyPatch.context() as patch,
        override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]),
        suppress(_Rollback),
        transaction.atomic(),
    ):
        # Pages show times: they stand still, or two readings would differ by themselves.
        patch.setattr(timezone, "now", lambda: NOW)
        site = Site(make_study(slug="optics", name="Optics pilot"), Client())
        there = _under(site.fill, site.read)
        exchanged = _under(lambda: site.fill(exchanged=True), site.read)
        unsteady = _unlike(there, _under(site.fill, site.read)) if _unlike(there, exchanged) else []
        moved = _under(lambda: site.fill(moved=True), site.read)
        found.append(_Read(there, exchanged, moved, unsteady, site.disputed[0].response_label))
        raise _Rollback
    return found[0]


def test_with_the_arms_exchanged_every_address_answers_the_same_to_the_byte(read: _Read) -> None:
    assert read.unsteady == [], "the pages differ by themselves: the comparison proves nothing"
    assert _unlike(read.there, read.exchanged) == []


def test_the_pages_are_what_they_are_classified_as(read: _Read) -> None:
    answers = read.there
    statuses: dict[str, set[int]] = {}
    for name, what, status, _ in answers:
        if what.startswith("GET"):
            statuses.setdefault(name, set()).add(status)
    wrong = {
        name: found
        for name, found in statuses.items()
        # One of the traces has no verdict to show.
        if not found - ({404} if name == "run_trace" else set())
        <= {"shown": {200, 301, 302}, "refused": {403, 404, 405, 409}, "orders": {405}, "nothing": {404}}[
            PAGES[name]
        ]
    }
    assert wrong == {}
    arguments = [content for name, what, _, content in answers if what.endswith(f"disputes/{0:020x}/")]
    assert any(b"boundary term" in content for content in arguments)


def test_the_comparison_notices_another_value(read: _Read) -> None:
    assert any(name == "dispute" for name, _ in _unlike(read.there, read.moved))


def test_no_page_names_an_arm_beside_a_proposal_or_a_debater(read: _Read) -> None:
    """The words themselves: names, models and texts of the debate stand on no page before the decision."""
    for name, what, status, content in read.there:
        if status != 200 or not what.startswith("GET"):
            continue
        for word in (b"maker/debater", b"wrong unit in the end", read.response_label.encode()):
            assert word not in content, (name, word)
        if name == "dispute":
            assert b"debate" not in content.lower()
            assert b"human" not in content.lower()


def _unlike(one: list[Any], other: list[Any]) -> list[tuple[str, str]]:
    assert [answer[:2] for answer in one] == [answer[:2] for answer in other]
    return [a[:2] for a, b in zip(one, other, strict=True) if a != b]


def test_no_address_shows_the_audit_trail_or_an_admin_site() -> None:
    """Both would tell who said what; a page of either must be classified, and masked, before it comes."""
    assert not [name for name in PAGES if re.search("audit(?!ed_key)|admin", name.replace("key_audit", ""))]
