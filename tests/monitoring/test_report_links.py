"""Every number of the report leads to the traces behind it, and to those alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qsl

import pytest
from django.test import Client
from django.urls import reverse

from adjudication.models import CriticalRole, ReferenceStandard, StandardLabel
from annotation.models import Study, Trace
from core.models import User
from monitoring.models import Run, Verdict
from monitoring.report import services
from monitoring.report.behind import Asked, labels_behind, tally, verdicts_behind
from monitoring.report.build import build
from monitoring.report.selection import Selection
from monitoring.report.source import load
from monitoring.report.tables import tables
from stats.report import Options
from tests.build import make_question, make_trace
from tests.monitoring.report_build import make_batch, make_monitor, store_standard

pytestmark = pytest.mark.django_db
CONDITIONS = ("BLIND", "HINT", "CERT", "RCTRL", "REVISE", "STEP", "CMATCH", "CCONFLICT")
NUMBER = re.compile(r"\d")


def verdict_of(monitor: int, condition: str, n: int, step: int | None) -> tuple[Any, ...]:
    """A verdict that differs by monitor, condition and trace; some fail, some name no step."""
    draw = (7 * n + 5 * monitor + 3 * CONDITIONS.index(condition)) % 11
    if draw == 0:
        return ("refusal", None, None)
    if draw == 1:
        return ("inconsistent", True, None, 70.0)
    if draw in (2, 3, 4):
        return ("ok", False, None, 10.0 + draw)
    if draw == 5 and step:
        return ("ok", True, step + 1, None)
    return ("ok", True, step or 1 + (draw % 5), 60.0 + draw)


@pytest.fixture
def rich(study: Study, adam: User) -> ReferenceStandard:
    """Three monitors under every condition on 24 traces, failures and all; arms, roles, self-review."""
    traces: list[Trace] = []
    for _ in range(8):
        question = make_question(study, subject="optics")
        traces += [make_trace(question, n_steps=4 + k, generator=f"model-{k}") for k in range(3)]
    truth = [(n % 3 != 1, None if n % 3 == 0 else 1 + n % 3) if n != 23 else (False, None) for n in range(24)]
    labels = (
        StandardLabel(
            trace=trace,
            status="ready",
            final_correct=truth[n][0],
            first_error_step=truth[n][1],
            provenance="adjudicated",
            human_final_correct=truth[n][0],
            human_first_error_step=truth[n][1],
            debate_final_correct=n % 5 != 0 if n % 4 else None,
            debate_first_error_step=(truth[n][1] if n % 7 else 3) if n % 4 else None,
        )
        for n, trace in enumerate(traces)
    )
    standard = store_standard(study, labels)
    for n in (2, 5, 8):
        CriticalRole.objects.create(trace=traces[n], kind="substantive", coded_by=adam)
    batch = make_batch(standard)
    for m, model in enumerate(("model-0", "other-1", "third-2")):
        monitor = make_monitor(study, f"monitor-{m}", model=model)
        for condition in CONDITIONS:
            cell = {"CMATCH": 1, "CCONFLICT": 0}.get(condition)
            run = Run.objects.create(batch=batch, monitor=monitor, condition=condition, status="finished")
            again = condition in ("REVISE", "RCTRL")
            Verdict.objects.bulk_create(
                Verdict(
                    run=run,
                    trace=trace,
                    outcome=said[0],
                    has_error=said[1],
                    first_error_step=said[2],
                    error_confidence=said[3] if len(said) > 3 else None,
                    prior_has_error=bool(n % 2) if again else None,
                )
                for n, trace in enumerate(traces)
                if (cell is None or n % 3 == cell) and (condition != "RCTRL" or truth[n][0])
                for said in [verdict_of(m, condition, n, truth[n][1])]
            )
    return standard


def document(study: Study, standard: Any) -> dict[str, Any]:
    return build(load(study, standard), study, standard, Options(resamples=5, studies=2))


# What may stand without a link, since no trace is behind it.
NO_NUMBERS = re.compile(
    r"\b[0-9a-f]{16,64}\b|sha256( [0-9a-f]{8,64})?"  # hashes
    r"|seed \d+|\d+ resamples|\b(95|80)%"  # how intervals and power are computed
    r"|([Ss]tandard|version) \d+|Standards \d+ and \d+"  # which standard
    r"|\b(L[01]|AC1)\b|monitor-\d"  # names of measures and monitors
    r"|leaves 0 out|fewer than 10 clusters|placed step to 0|above 50|\(?1 − α|α \+ β < 1"  # bounds that a note explains
    r"|\d+ more questions are not drawn|\d+ of \d+ figures"  # counts of what the page shows, not of traces
)
# Names of rows, columns, pages and scales, choices of forms, and reasons why a number is missing.
NAMES = {"th", "title", "desc", "nav", "option", "chart-tick", "masthead", "eyebrow", "visually-hidden"}


class Walk(HTMLParser):
    """Collects the words of a page that hold a number and lie in no link to traces."""

    def __init__(self) -> None:
        super().__init__()
        self.inside: list[set[str]] = []
        self.bare: list[str] = []
        self.links: list[
            tuple[str, str, str]
        ] = []  # address, words, and whether in a table, a figure or prose

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("br", "hr", "img", "input", "link", "meta"):
            return
        given = dict(attrs)
        marks = {tag, *(given.get("class") or "").split()}
        if tag == "a" and "/traces/?" in (given.get("href") or ""):
            marks.add("led")
            around = set().union(*self.inside)
            place = next((name for name in ("td", "svg") if name in around), "prose")
            self.links.append((given["href"] or "", "", place))
        self.inside.append(marks)

    def handle_endtag(self, tag: str) -> None:
        while tag not in self.inside.pop():
            pass

    def handle_data(self, data: str) -> None:
        around: set[str] = set().union(*self.inside)
        if "led" in around:
            if not around & {"title", "ci"}:
                address, text, place = self.links[-1]
                self.links[-1] = (address, text + data, place)
        elif not around & NAMES and NUMBER.search(NO_NUMBERS.sub("", data)):
            self.bare.append(data.strip())


def walked(page: str) -> Walk:
    walk = Walk()
    walk.feed(page)
    return walk


def test_the_page_has_no_number_that_leads_nowhere(study: Study, rich: Any, olga: User) -> None:
    services.compute_report(study=study, standard=rich)
    client = Client()
    client.force_login(olga)
    page = client.get(reverse("report", args=[study.slug, 1])).content.decode()
    walk = walked(page)
    assert walk.bare == []
    places = Counter(place for *_, place in walk.links)
    assert places["svg"] > 200 and places["prose"] > 40, "points, bars and sentences lead to traces too"
    counts = {
        (address, text.partition(" ")[0])
        for address, text, place in walk.links
        if place != "td" and re.fullmatch(r"\d+( (?!question|monitor|condition)[a-z ]+)?", text)
    }
    for address, n in sorted(counts):
        found = client.get(address).context
        assert int(n) in (found["page"].paginator.count, found["tally"].get("traces")), (address, n)
    assert len(counts) > 25
    cells = re.findall(r'<td class="num"[^>]*>(.*?)</td>', page)
    shown = re.compile(r'<span class="visually-hidden">.*?</span>|<[^>]+>')
    bare = [cell for cell in cells if "<a " not in cell and NUMBER.search(shown.sub("", cell))]
    assert len(cells) > 900
    assert bare == []


def test_two_standards_lead_to_their_own_traces_and_a_change_to_those_that_changed(
    study: Study, rich: Any, olga: User
) -> None:
    rows = list(rich.labels.order_by("pk"))
    for row in rows:
        row.pk = None
    rows[0].first_error_step, rows[0].final_correct = 2, False  # clean before
    rows[1].first_error_step = None  # had an error before
    rows[5].status, rows[5].status_reason = "excluded", "unreadable"
    other = store_standard(study, rows)
    for standard in (rich, other):
        services.compute_report(study=study, standard=standard, resamples=2000)
    client = Client()
    client.force_login(olga)
    page = client.get(reverse("standard_figures", args=[study.slug, 1, 2]), {"figures": "all"})
    walk = walked(page.content.decode())
    assert walk.bare == []
    kinds = Counter(re.sub(r"\?(against=1&)?.*", r"\1", address) for address, *_ in walk.links)
    first, second = (reverse("report_traces", args=[study.slug, n]) for n in (1, 2))
    assert set(kinds) == {first, second, f"{second}against=1&"}
    counts = {
        (address, int(text)) for address, text, _ in walk.links if text.isdecimal() and "all=1" not in address
    }
    assert len(counts) == 6
    for address, n in counts:
        assert client.get(address).context["page"].paginator.count == n, address
    changed = client.get(second, {"against": 1, "all": 1})
    assert changed.context["page"].paginator.count == 3
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", changed.content.decode()))
    assert "no error, answer right error at step 2, answer wrong" in text
    assert "excluded" in text
    verdicts = client.get(
        second, {"against": 1, "condition": "BLIND", "monitor": "monitor-1", "cell": "error"}
    )
    assert verdicts.context["page"].paginator.count == 3, "erroneous under either standard"
    assert client.get(second, {"against": 9}).status_code == 404


def linked(report: dict[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """Table, column, text and link of every number of a report."""
    for table in tables(report):
        for row in table.rows:
            for column, cell in zip(table.columns, row, strict=True):
                if cell.number and NUMBER.search(cell.text):
                    yield table.key, column, cell.text, cell.link


def test_a_count_is_the_number_of_traces_that_it_leads_to(study: Study, rich: Any) -> None:
    counts = 0
    for key, column, text, link in linked(document(study, rich)):
        if not text.isdecimal() or key == "power" or column == "median when passing":
            continue
        asked = Asked.read(dict(parse_qsl(link)))
        if asked.of_verdicts:
            n = tally(verdicts_behind(study, rich, asked, Selection()))[
                "traces" if asked.beside else "verdicts"
            ]
        else:
            n = labels_behind(rich, asked, Selection()).count()
        assert n == int(text), (key, column, text, link)
        counts += 1
    assert counts > 300


RATES = {
    "flag rate": "flagged",
    "sensitivity": "flagged",
    "specificity": "passed",
    "L0": "exact",
    "erroneous": "exact",
    "without an error": "passed",
    "withdrawn": "passed",
    "added": "flagged",
    "α": "passed",
    "β": "flagged",
    "passes": "passed",
}


def test_a_rate_of_one_monitor_follows_from_the_traces_that_it_leads_to(study: Study, rich: Any) -> None:
    rates = 0
    for key, column, text, link in linked(document(study, rich)):
        name = RATES.get(column.split(",")[0])
        asked = Asked.read(dict(parse_qsl(link)))
        if not name or not asked.monitor or asked.beside or key == "bounds":
            continue
        found = tally(verdicts_behind(study, rich, asked, Selection()))
        assert f"{found[name] / found['verdicts']:.3f}" == text, (key, column, text, link)
        rates += 1
    assert rates > 60


def test_a_mean_recall_is_the_mean_over_monitors_of_the_traces_that_it_leads_to(
    study: Study, rich: Any
) -> None:
    checked = 0
    for key, column, text, link in linked(document(study, rich)):
        name = {
            "ladder_recall": "flagged",
            "critical_roles": "flagged" if column in CONDITIONS else "",
            "subsets": "exact" if "L0" in column else "",
            "dependence": "flagged" if "recall" in column else "",
        }.get(key, {"revision": RATES.get(column)}.get(key) or "")
        if key == "by_human":
            name = "flagged" if "recall" in column and not text.startswith(("+", "−")) else ""
        if not name or text.isdecimal():
            continue
        shares = []
        for monitor in ("monitor-0", "monitor-1", "monitor-2"):
            asked = Asked.read(dict(parse_qsl(link)) | {"monitor": monitor})
            found = tally(verdicts_behind(study, rich, asked, Selection()))
            if found["verdicts"]:
                shares.append(found[name] / found["verdicts"])
        assert f"{sum(shares) / len(shares):.3f}" == text, (key, column, text, link)
        checked += 1
    assert checked > 60
