"""Before deciding, nothing that a lead can read tells which arm, person or model said what."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable

import pytest
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.db import transaction
from django.test import Client
from django.urls import reverse

from adjudication.models import Dispute
from adjudication.services.disputes import recompute_disputes
from adjudication.services.leaks import Needles, _keys_in, find_leaks
from annotation.models import Role, Study
from core.models import User
from tests.adjudication.build import DEBATE, HUMAN, Said, label_trace, make_dispute, settle
from tests.build import make_person, make_question, make_trace

pytestmark = pytest.mark.django_db

TOKEN = re.compile(rb'name="csrfmiddlewaretoken" value="\w+"')


class _Rollback(Exception):
    pass


def _under(build: Callable[[], None], read: Callable[[], list[bytes]]) -> list[bytes]:
    """Read pages with some rows in the database, and take the rows out again."""
    pages: list[bytes] = []
    with pytest.raises(_Rollback), transaction.atomic():
        build()
        pages = read()
        raise _Rollback
    return pages


def _swapped(said: list[Said]) -> list[Said]:
    other = {HUMAN: DEBATE, DEBATE: HUMAN}
    return [(other[arm], labeller, right, step) for arm, labeller, right, step in said]


SAID: list[list[Said]] = [
    [(HUMAN, "ana", True, 2), (DEBATE, "gpt-model", True, 4)],
    [(HUMAN, "ana", True, None), (DEBATE, "gpt-model", False, None)],
    [(HUMAN, "ana", True, 2), (HUMAN, "ben", True, 2), (DEBATE, "gpt-model", True, 3)],
    [(HUMAN, "ana", True, 2), (HUMAN, "ben", False, 5), (DEBATE, "gpt-model", True, None)],
]


@pytest.mark.parametrize("said", SAID)
@pytest.mark.parametrize("roles", [[Role.LEAD], [Role.LEAD, Role.ADMINISTRATOR]])
def test_with_the_arms_exchanged_every_page_is_the_same_to_the_byte(
    study: Study, client: Client, said: list[Said], roles: list[Role]
) -> None:
    lead = make_person("lea", study=study, roles=roles)
    client.force_login(lead)
    trace = make_trace(make_question(study))
    token = "0123456789abcdef0123"
    addresses = [
        reverse("home"),
        reverse("study", args=[study.slug]),
        reverse("disputes", args=[study.slug]),
        reverse("disputes", args=[study.slug]) + "?kind=step",
        reverse("dispute", args=[study.slug, token]),
    ]

    def read() -> list[bytes]:
        pages = []
        for address in addresses:
            answer = client.get(address)
            assert answer.status_code == 200
            # The token against forgery is random on every page, whatever the labels.
            told = sorted(item for item in answer.headers.items() if item[0] != "X-Request-ID")
            pages.append(TOKEN.sub(b"", answer.content) + repr(told).encode())
        return pages

    def build(labels: list[Said]) -> Callable[[], None]:
        def fill() -> None:
            label_trace(trace, labels)
            recompute_disputes(study=study)
            Dispute.objects.update(token=token)

        return fill

    there = _under(build(said), read)
    assert b"proposals" in there[-1]
    assert _under(build(_swapped(said)), read) == there
    # Arrival does not show either.
    assert _under(build(said[::-1]), read) == there
    # The check can fail: another value shows.
    changed = [(arm, name, right, 1) for arm, name, right, _ in said[:1]] + said[1:]
    assert _under(build(changed), read) != there


def test_a_value_said_by_two_people_is_one_proposal(study: Study, client: Client, adam: User) -> None:
    client.force_login(adam)
    trace = make_trace(make_question(study))
    label_trace(trace, SAID[2])
    recompute_disputes(study=study)
    dispute = Dispute.objects.get()
    page = client.get(reverse("dispute", args=[study.slug, dispute.token])).content.decode()
    table = page.split("What was proposed")[1].split("</table>")[0]
    assert table.count("<tr>") == 1 + 2


def test_no_page_of_a_lead_holds_a_source(study: Study, adam: User, client: Client) -> None:
    client.force_login(adam)
    dispute = make_dispute(study, response_label="Response Q", generator="claude-opus-9")
    page = client.get(reverse("dispute", args=[study.slug, dispute.token])).content.decode()
    for word in ("Response Q", "claude-opus-9", "debate", "human", 'ana"', "Ana"):
        assert word not in page
    assert dispute.trace.token not in page


def test_the_walk_reads_the_lists_and_every_open_dispute_and_finds_nothing(study: Study, adam: User) -> None:
    for _ in range(3):
        make_dispute(study)
    settle(make_dispute(study), adam)
    before = (Session.objects.count(), User.objects.get(pk=adam.pk).last_login)
    report = find_leaks(study=study)
    assert report.leaks == []
    assert report.pages["dispute"] == 3
    assert report.pages["disputes"] >= 3
    assert {"home", "study", "standards"} <= report.pages.keys()
    assert (Session.objects.count(), User.objects.get(pk=adam.pk).last_login) == before


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("generator-x at work", "generator “generator-x”"),
        ("Response 7b", "stored response label “Response 7b”"),
        ("the debate", "arm “debate”"),
        ("labelled by Ana", "labeller “Ana”"),
    ],
)
def test_the_walk_finds_what_a_page_gives_away(study: Study, adam: User, name: str, what: str) -> None:
    make_dispute(study, response_label="Response 7b", generator="generator-x")
    Study.objects.update(name=name)
    study.refresh_from_db()
    found = {leak.what.lower() for leak in find_leaks(study=study).leaks}
    assert what.lower() in found


def test_a_word_of_the_solution_itself_is_told_apart(study: Study, adam: User) -> None:
    make_dispute(study, steps=["(1) As generator-x I say.", "(2) b", "(3) c", "(4) d"])
    report = find_leaks(study=study)
    assert report.leaks == []
    assert {leak.what for leak in report.in_texts} == {"generator “generator-x”"}


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("/studies/s/traces/81/", True),
        ("/studies/s/?trace=81", True),
        ("/studies/s/?page=81", False),
        ("/studies/s/standards/81/", False),
        ("/studies/s/standards/1/diff/81/", False),
        ("/studies/s/traces/82/", False),
    ],
)
def test_the_walk_knows_a_key_in_an_address(address: str, found: bool) -> None:
    needles = Needles({}, {}, {"label": frozenset(), "trace": frozenset({81}), "dispute": frozenset()})
    assert bool(list(_keys_in([address], needles))) is found


def test_the_command_fails_on_a_leak_and_passes_without(study: Study, adam: User) -> None:
    make_dispute(study)
    out = io.StringIO()
    call_command("check_leaks", "--study", study.slug, stdout=out)
    assert "no leak on" in out.getvalue()
    told = io.StringIO()
    call_command("check_leaks", "--study", study.slug, "--json", "-", stdout=told)
    found = json.loads(told.getvalue())
    assert found["leaks"] == [] and f"no leak on {sum(found['pages'].values())} pages" in out.getvalue()
    Study.objects.update(name="The debate")
    with pytest.raises(CommandError, match="arm “debate”"):
        call_command("check_leaks", "--study", study.slug, stdout=out)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--study", "nowhere"], "no study named"),
        (["--study", "optics"], "has no lead"),
        (["--study", "optics", "--lead", "eve"], '"eve" is no lead'),
    ],
)
def test_the_command_says_why_it_cannot_look(study: Study, eve: User, words: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        call_command("check_leaks", *words)
