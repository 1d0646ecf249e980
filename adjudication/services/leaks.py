"""Walk the pages that a lead reaches before deciding, and look for anything that tells a source."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from html.parser import HTMLParser
from importlib import import_module
from typing import Any
from urllib.parse import urljoin, urlsplit

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.base import SessionBase
from django.test import Client
from django.urls import Resolver404, resolve, reverse

from adjudication.models import Dispute
from annotation.models import Label, Membership, Role, Study, Trace
from core.errors import UserError
from core.models import User

# Pages that a lead may open while disputes are open. Others (of monitors, batches, reports) speak of models
# and arms by name as their subject, show no trace with its label before a standard holds it, and are skipped.
VISITED = frozenset(
    {
        "home",
        "study",
        "queue",
        "annotate",
        "disputes",
        "dispute",
        "adjudication_rules",
        "debates",
        "standards",
        "standard",
        "standard_difference",
        "verification",
        "verify_trace",
        "experts",
        "expert_item",
        "key_audits",
        "key_audit",
        "grading",
        "critical_roles",
        "critical_role",
    }
)
# Pages that show a solution, and the way from the token in their address to it.
TRACE_BY_TOKEN = {
    "annotate": "token",
    "dispute": "disputes__token",
    "verify_trace": "token",
    "expert_item": "expert_items__token",
}
ARM_WORDS = ("human", "debate", "debates", "annotator", "annotators")
SHORTEST = 3
NUMBERED_PAGES = ("standards", "diff", "batches", "report", "keys")


@dataclass(frozen=True)
class Leak:
    """Something found on a page that should not be there."""

    path: str
    what: str
    excerpt: str


@dataclass
class LeakReport:
    """What was walked, what was found, and what could not be looked for."""

    pages: dict[str, int] = field(default_factory=dict)
    skipped: set[str] = field(default_factory=set)
    leaks: list[Leak] = field(default_factory=list)
    in_texts: list[Leak] = field(default_factory=list)
    too_short: list[str] = field(default_factory=list)
    unvisited: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return the report as plain JSON."""
        return {**asdict(self), "skipped": sorted(self.skipped)}


@dataclass(frozen=True)
class Needles:
    """What a page must not hold: words by kind, and keys of rows by kind."""

    everywhere: dict[str, str]
    on_disputes: dict[str, str]
    keys: dict[str, frozenset[int]]

    def of_page(self, name: str) -> dict[str, str]:
        """Return the words that only pages of disputes must not hold; their list names the leads who ruled."""
        if name == "dispute":
            return self.on_disputes
        if name == "disputes":
            return {word: kind for word, kind in self.on_disputes.items() if kind == "arm"}
        return {}


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.hrefs: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value is None:
                continue
            if tag == "a" and name == "href":
                self.hrefs.append(value)
            if name in ("href", "action", "src", "formaction") or name.startswith("hx-"):
                self.addresses.append(value)


def find_leaks(*, study: Study, lead: User | None = None, limit: int = 500) -> LeakReport:
    """Read at most `limit` pages as a lead of the study and report what tells a source.

    Nothing is written but a session, which is removed again. A word that stands in the question or in the
    solution itself is reported apart: no mask can hide it. Raises UserError for a study without a lead.
    """
    lead = lead or _a_lead(study)
    report = LeakReport()
    needles = _needles(study, lead, report)
    open_tokens = set(
        Dispute.objects.filter(study=study, status=Dispute.Status.OPEN).values_list("token", flat=True)
    )
    client, session = _signed_in(lead)
    try:
        waiting = [reverse("home"), reverse("disputes", args=[study.slug])]
        waiting += [reverse("dispute", args=[study.slug, token]) for token in sorted(open_tokens)]
        known = set(waiting)
        while waiting:
            path = waiting.pop(0)
            if sum(report.pages.values()) >= limit:
                report.unvisited = len(waiting) + 1
                break
            name, token = _page(path, study)
            if name is None or (name == "dispute" and token not in open_tokens):
                continue
            if name not in VISITED:
                report.skipped.add(name)
                continue
            for link in _read(client, path, name, token, study, needles, report):
                if link not in known:
                    known.add(link)
                    waiting.append(link)
    finally:
        session.delete()
    return report


def _read(
    client: Client,
    path: str,
    name: str,
    token: str | None,
    study: Study,
    needles: Needles,
    report: LeakReport,
) -> list[str]:
    response = client.get(path, secure=settings.SECURE_SSL_REDIRECT)
    report.pages[name] = report.pages.get(name, 0) + 1
    if response.status_code in (301, 302, 303):
        return [_local(path, response.headers["Location"])]
    if response.status_code >= 400:
        report.leaks.append(Leak(path, f"answered {response.status_code}", "the page could not be read"))
        return []
    page = html.unescape(response.content.decode())
    headers = "\n".join(f"{key}: {value}" for key, value in response.headers.items())
    words = needles.everywhere | needles.of_page(name)
    texts = _texts_on(study, name, token) if name in TRACE_BY_TOKEN else ""
    for word, kind in words.items():
        pattern = _whole(word)
        for found in (pattern.search(page), pattern.search(headers)):
            if found is None:
                continue
            leak = Leak(path, f"{kind} “{word}”", _around(found))
            (report.in_texts if pattern.search(texts) else report.leaks).append(leak)
    links = _Links()
    links.feed(response.content.decode())
    report.leaks += [Leak(path, what, address) for address, what in _keys_in(links.addresses, needles)]
    for found in re.finditer(r"\b(label|trace|dispute|decision)[-_:=#]?(\d+)\b", page):
        if int(found[2]) in needles.keys.get(found[1], frozenset()):
            report.leaks.append(Leak(path, f"key of a {found[1]}", _around(found)))
    return [_local(path, href) for href in links.hrefs]


def _keys_in(addresses: Iterable[str], needles: Needles) -> Iterator[tuple[str, str]]:
    """Yield addresses that hold a bare number which is the key of a row."""
    keys = needles.keys["label"] | needles.keys["trace"] | needles.keys["dispute"]
    for address in addresses:
        parts = urlsplit(address)
        segments = [part for part in parts.path.split("/") if part]
        previous = ["", *segments]
        for before, segment in zip(previous, segments, strict=False):
            if segment.isdigit() and int(segment) in keys and not _counts(before, segments):
                yield address, "key of a row in an address"
        for value in re.findall(r"(?:^|&)(?!page=)\w+=(\d+)(?=&|$)", parts.query):
            if int(value) in keys:
                yield address, "key of a row in an address"


def _counts(before: str, segments: list[str]) -> bool:
    """Whether a number in an address is a version or a number within the study, not a key."""
    return before in NUMBERED_PAGES or any(part in NUMBERED_PAGES for part in segments)


def _needles(study: Study, lead: User, report: LeakReport) -> Needles:
    traces = Trace.objects.filter(study=study)
    everywhere = dict.fromkeys(traces.values_list("generator", flat=True).distinct(), "generator")
    everywhere |= dict.fromkeys(
        traces.values_list("response_label", flat=True).distinct(), "stored response label"
    )
    labels = Label.objects.filter(trace__study=study)
    names: set[str] = set()
    for labeller, username, display in labels.values_list(
        "labeller", "person__username", "person__display_name"
    ).distinct():
        names |= {labeller, username or "", display or ""}
    names -= {lead.username, lead.display_name}
    names -= {name for name in names if name.lower() in ARM_WORDS}
    # Leads stand on the pages of standards and decisions by their names, which is no secret there.
    leads = User.objects.filter(memberships__study=study, memberships__role=Role.LEAD)
    public = {name for pair in leads.values_list("username", "display_name") for name in pair}
    on_disputes = dict.fromkeys(names & public, "labeller") | dict.fromkeys(ARM_WORDS, "arm")
    everywhere |= dict.fromkeys(names - public, "labeller")
    everywhere.pop("", None)
    on_disputes.pop("", None)
    report.too_short = sorted(word for word in {*everywhere, *on_disputes} if len(word) < SHORTEST)
    disputes = Dispute.objects.filter(study=study)
    return Needles(
        everywhere={word: kind for word, kind in everywhere.items() if len(word) >= SHORTEST},
        on_disputes={word: kind for word, kind in on_disputes.items() if len(word) >= SHORTEST},
        keys={
            "label": frozenset(labels.values_list("pk", flat=True)),
            "trace": frozenset(traces.values_list("pk", flat=True)),
            "dispute": frozenset(disputes.values_list("pk", flat=True)),
            "decision": frozenset(disputes.exclude(decisions=None).values_list("decisions__pk", flat=True)),
        },
    )


def _texts_on(study: Study, name: str, token: str | None) -> str:
    """Return the words that the page must show whatever they say: of the question and the solution."""
    traces = Trace.objects.filter(study=study).select_related("question")
    trace = traces.filter(**{TRACE_BY_TOKEN[name]: token}).first()
    if trace is None:
        return ""
    question = trace.question
    answers = question.reference_answers.values_list("text", "reason")
    return "\n".join(
        [
            trace.text,
            question.statement,
            question.rationale,
            question.subject,
            question.external_id,
            *(text for pair in answers for text in pair),
        ]
    )


def _page(path: str, study: Study) -> tuple[str | None, str | None]:
    """Return (name of the page, token in it); no name for what is not a page of this study."""
    try:
        match = resolve(urlsplit(path).path)
    except Resolver404:
        return None, None
    if match.kwargs.get("slug", study.slug) != study.slug:
        return None, None
    return match.url_name, match.kwargs.get("token")


def _local(base: str, href: str) -> str:
    """Return path and query of a link; a link to elsewhere becomes a path that no page has."""
    parts = urlsplit(urljoin(base, href))
    if parts.netloc or parts.scheme not in ("", "http", "https"):
        return "//"
    return parts.path + (f"?{parts.query}" if parts.query else "")


def _whole(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)


def _around(found: re.Match[str]) -> str:
    text = found.string[max(0, found.start() - 40) : found.end() + 40]
    return " ".join(text.split())


def _a_lead(study: Study) -> User:
    membership = (
        Membership.objects.filter(study=study, role=Role.LEAD, person__is_active=True)
        .select_related("person")
        .order_by("pk")
        .first()
    )
    if membership is None:
        raise UserError(f'study "{study.slug}" has no lead: nobody could see a leak')
    return membership.person


def _signed_in(lead: User) -> tuple[Client, SessionBase]:
    """Return a client with a session of its own: signing in would be written down as the lead's last visit."""
    session: SessionBase = import_module(settings.SESSION_ENGINE).SessionStore()
    session[SESSION_KEY] = str(lead.pk)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = lead.get_session_auth_hash()
    session.save()
    host = next((host for host in settings.ALLOWED_HOSTS if host and host[0] not in ".*"), "127.0.0.1")
    client = Client(raise_request_exception=False, SERVER_NAME=host)
    client.cookies[settings.SESSION_COOKIE_NAME] = session.session_key or ""
    return client, session
