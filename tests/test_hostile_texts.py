"""A corpus of hostile texts is inert on every page, in refusals, downloads and the API."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Study, Trace
from core.mathtext import render
from core.visible import HIDDEN, holds_hidden, shown
from monitoring.engine import waking
from tests import hostile
from tests.build import make_label, make_trace
from tests.hostile_study import HostileStudy

pytestmark = pytest.mark.django_db
ALL = hostile.EVERYTHING
HIDDEN_CHARACTER = re.compile(f"[{HIDDEN}]")
# Left as they are in a form, which sends them again, and in attributes, which isolate them.
NOT_TEXT = re.compile(
    r"""<(textarea|title|script|option)\b.*?</\1>|<(?:[^>"']|"[^"]*"|'[^']*')*>""", re.DOTALL | re.IGNORECASE
)


@pytest.mark.parametrize("name", hostile.TEXTS)
def test_typeset_text_is_inert(name: str) -> None:
    assert hostile.what_could_run(render(hostile.TEXTS[name])) == []


def test_the_reader_of_pages_notices_what_runs() -> None:
    for name in ("script", "handlers", "elements", "mathml", "svg", "styles"):
        assert hostile.what_could_run(hostile.TEXTS[name]) != [], name
    assert hostile.what_could_run('<a href="java\nscript:x">x</a>')


def test_every_hidden_character_is_found_and_no_other_is_taken_for_one() -> None:
    for code in (*range(0xD800), *range(0xE000, 0x10000), *range(0x1D400, 0x1D500), *range(0xE0000, 0xE0200)):
        found = holds_hidden(f"a é{chr(code)}” <b>".encode())
        assert found == (HIDDEN_CHARACTER.fullmatch(chr(code)) is not None), hex(code)


def test_hidden_characters_are_marked_in_text_and_nowhere_else() -> None:
    html = '<p title="a\u202eb">a\u202eb</p><textarea>\u202e</textarea><math><mi>x\u200b</mi></math>'
    told = shown(html)
    assert (
        'title="a\u202eb">a<span class="mark-hidden" title="right-to-left override">U+202E</span>b</p>'
        in told
    )
    assert "<textarea>\u202e</textarea><math><mi>x</mi></math>" in told
    assert shown("<p>ordinary &amp; é 文 \u200d</p>") == "<p>ordinary &amp; é 文 \u200d</p>"


@pytest.fixture
def world(study: Study, monkeypatch: pytest.MonkeyPatch) -> HostileStudy:
    monkeypatch.setattr(waking, "send", lambda batch_id, *, drivers=1: None)
    Study.objects.filter(pk=study.pk).update(name=ALL[:150])
    study.refresh_from_db()
    made = HostileStudy(study)
    made.drive()
    return made


def _content(answer: Any) -> bytes:
    return b"".join(answer.streaming_content) if answer.streaming else answer.content


@pytest.mark.django_db(transaction=True)
def test_every_page_is_inert_for_everybody(world: HostileStudy, client: Client) -> None:
    shown_somewhere: set[str] = set()
    for person in world.people.values():
        client.force_login(person)
        addresses = {one for trace in world.traces() for one in world.addresses(trace.token)}
        for address in addresses:
            answers = [client.get(address)]
            if address.count("/") == 4 and answers[0].status_code == 200:
                answers.append(
                    client.get(address, dict.fromkeys(("words", "q", "kind", "page", "monitors"), ALL))
                )
            for answer in answers:
                if "text/html" not in answer["Content-Type"]:
                    continue
                html = _content(answer).decode()
                assert hostile.what_could_run(html) == [], address
                assert not HIDDEN_CHARACTER.search(NOT_TEXT.sub("", html)), address
                if "evil.example" in html:
                    shown_somewhere.add(address.split("/")[3] if address.count("/") > 3 else address)
    # The texts were there to be read, or nothing would be proved.
    assert {"traces", "disputes", "batches", "verification", "questions"} <= shown_somewhere


@pytest.mark.django_db(transaction=True)
def test_refusals_repeat_nothing_that_runs(world: HostileStudy, client: Client) -> None:
    for person in world.people.values():
        client.force_login(person)
        fields = dict.fromkeys(
            (
                "final",
                "comment",
                "rationale",
                "name",
                "reason",
                "format",
                "arm",
                "slug",
                "model",
                "text",
                "step",
            ),
            ALL,
        )
        for address in world.addresses(world.disputed.token):
            answer = client.post(address, fields)
            for _ in answer.streaming_content if answer.streaming else ():
                pass  # to its end, where its file is closed
            if answer.status_code >= 400 and "text/html" in answer["Content-Type"]:
                assert hostile.what_could_run(_content(answer).decode()) == [], address
    for path in ("/<script>x</script>/", "/studies/%22%3E%3Cscript%3E/", "/api/v1/%3Cscript%3E/"):
        answer = client.get(path)
        assert "<script>x" not in answer.content.decode()
    signing = client.post(reverse("login"), {"username": ALL[:140], "password": ALL})
    assert hostile.what_could_run(signing.content.decode()) == []


@pytest.mark.django_db(transaction=True)
def test_downloads_are_data(world: HostileStudy, client: Client) -> None:
    extra = make_trace(world.settled.question)
    for number, text in enumerate(("=1+1", "+cmd", "-2", "@SUM(A1)", "\t=1", "\r=1")):
        make_label(extra, labeller=f"reader{number}", comment=text)
    client.force_login(world.people["administrator"])
    answer = client.post(reverse("download_labels", args=[world.study.slug]), {"format": "csv", "arm": "all"})
    assert answer["Content-Disposition"].startswith("attachment")
    rows = list(csv.reader(io.StringIO(_content(answer).decode("utf-8-sig"))))
    assert len(rows) > 6
    assert not [cell for row in rows for cell in row if cell and cell[0] in "=+@\t\r"]
    page = reverse("run_download", args=[world.study.slug, 1, "always", "BLIND"])
    answer = client.post(page)
    assert answer["Content-Type"].startswith("application/x-ndjson")
    assert answer["X-Content-Type-Options"] == "nosniff"
    lines = _content(answer).decode().splitlines()
    assert all(world.study.canary in line for line in lines)
    assert len(lines) == Trace.objects.filter(verdicts__isnull=False).count()


@pytest.mark.django_db(transaction=True)
def test_the_api_answers_data_that_no_browser_takes_for_a_page(world: HostileStudy, client: Client) -> None:
    client.force_login(world.people["annotator"])
    answer = client.get(f"/api/v1/studies/{world.study.slug}/traces/{world.free.token}/")
    assert answer.status_code == 200
    assert answer["Content-Type"] == "application/json"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer.json()["steps"]
