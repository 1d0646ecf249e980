"""Every page, every person and every method against the table page_matrix.json.

A page that the table lacks fails: nothing is open by default. To write the table anew, and then to read it line
by line in the diff: FALSESTEP_WRITE_MATRIX=1 pytest tests/test_page_matrix.py. The API has a table of its own.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import transaction
from django.shortcuts import resolve_url
from django.test import Client
from django.urls import resolve, reverse
from django.utils import timezone

from annotation.models import Role, Study
from tests.build import make_person, make_study
from tests.test_blind_everywhere import NOW, PARAMETER, Site, all_routes

pytestmark = pytest.mark.django_db

TABLE = Path(__file__).parent / "page_matrix.json"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
PEOPLE = ("anonymous", "annotator", "lead", "administrator", "foreigner")
# What opens without signing in; everything else leads to the sign-in page, whatever the method.
OPEN = {
    "metrics",
    "login",
    "theme",
    "healthz",
    "invitation",
    "oidc_authentication_init",
    "oidc_authentication_callback",
}
SIGN_IN = "302"


class _Undo(Exception):
    pass


@pytest.fixture
def clients(study: Study, client: Client, monkeypatch: pytest.MonkeyPatch) -> dict[str, Client]:
    """One browser for each kind of person, in a study with a bit of everything."""
    monkeypatch.setattr(timezone, "now", lambda: NOW)
    Site(study, client).fill()
    other = make_study(slug="other")
    people = {
        "annotator": make_person("amy", study=study, roles=[Role.ANNOTATOR]),
        "lead": make_person("adam", study=study, roles=[Role.LEAD]),
        "administrator": make_person("olga", study=study, roles=[Role.ADMINISTRATOR]),
        "foreigner": make_person("fay", study=other, roles=list(Role)),
    }
    browsers = {"anonymous": Client(raise_request_exception=False)}
    for name, person in people.items():
        browsers[name] = Client(raise_request_exception=False)
        browsers[name].force_login(person)
    return browsers


def _addresses(study: Study) -> dict[str, tuple[str, str]]:
    """Return {route: (name, address)} with this study's values in the places."""
    disputed = study.traces.filter(disputes__isnull=False).order_by("pk").first()
    settled = study.traces.filter(disputes__isnull=True).order_by("pk").first()
    values: dict[str, object] = {**Site.VALUES, "slug": study.slug}
    found = {}
    for name, route in all_routes():
        before = route.split("<slug:token>")[0].split("<str:token>")[0].rstrip("/").rsplit("/", 1)[-1]
        assert disputed is not None
        assert settled is not None
        token = {"disputes": f"{0:020x}", "roles": settled.token}.get(before, disputed.token)
        found[route] = (
            name,
            "/" + PARAMETER.sub(lambda match, t=token: str({**values, "token": t}[match[1]]), route),
        )
    return found


def _answer(client: Client, method: str, address: str) -> Any:
    cookies = client.cookies.copy()
    try:
        with transaction.atomic():
            answer = client.generic(method, address)
            for _ in answer.streaming_content if answer.streaming else ():
                pass  # to its end, where its file is closed
            raise _Undo
    except _Undo:
        client.cookies = cookies
        return answer


def _found(study: Study, clients: dict[str, Client]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for route, (name, address) in _addresses(study).items():
        for method in METHODS:
            statuses = []
            for person in PEOPLE:
                answer = _answer(clients[person], method, address)
                statuses.append(str(answer.status_code))
                if person == "anonymous" and name not in OPEN:
                    assert answer.get("Location", "").startswith(resolve_url(settings.LOGIN_URL)), (
                        method,
                        address,
                    )
            found.setdefault(route, {})[method] = " ".join(statuses)
    return found


def _written(found: dict[str, dict[str, str]]) -> str:
    rows = [f"  {json.dumps(route)}: {json.dumps(methods)}" for route, methods in found.items()]
    return "{\n" + ",\n".join(['  "people": ' + json.dumps(" ".join(PEOPLE)), *rows]) + "\n}\n"


def test_every_page_answers_every_person_as_the_table_says(study: Study, clients: dict[str, Client]) -> None:
    found = _found(study, clients)
    if os.environ.get("FALSESTEP_WRITE_MATRIX"):
        TABLE.write_text(_written(found), encoding="utf-8")
    expected = json.loads(TABLE.read_text(encoding="utf-8"))
    expected.pop("people")
    assert sorted(found) == sorted(expected), "a page is not in the table, or the table has one too many"
    assert {route: row for route, row in found.items() if row != expected[route]} == {}


# Pages that no link leads to: an order or an htmx element does, a machine or a mistake, or there is none in this study.
UNLINKED = {
    "healthz",
    "accounts/login/",
    "accounts/confirm/",
    "guides/",
    "studies/<slug:slug>/traces/<slug:token>/",
    "studies/<slug:slug>/batches/<int:number>/progress/",
    "studies/<slug:slug>/guideline/<int:version>/",
    "studies/<slug:slug>/standards/<int:version>/diff/<int:other>/",
    "studies/<slug:slug>/report/<int:version>/beside/<int:other>/",
}


@pytest.mark.parametrize("person", ["annotator", "lead", "administrator"])
def test_links_lead_to_every_page_and_to_no_refusal(clients: dict[str, Client], person: str) -> None:
    table = json.loads(TABLE.read_text(encoding="utf-8"))
    place = PEOPLE.index(person)
    readable = {route for route in set(table) - {"people"} if table[route]["GET"].split()[place] == "200"}
    refused, seen, waiting = [], {""}, ["/"]
    while waiting:
        answer = clients[person].get(waiting.pop(0), follow=True)
        seen.add(resolve(answer.request["PATH_INFO"]).route)
        if answer.status_code != 200:
            refused.append((answer.request["PATH_INFO"], answer.status_code))
        if answer.streaming or "text/html" not in answer["Content-Type"]:
            continue
        for address in re.findall(r'<a [^>]*?href="(/[^"#?]*)', answer.content.decode()):
            if (route := resolve(address).route) not in seen:
                seen.add(route)
                waiting.append(address)
    # What monitors said stays closed to a lead while disputes are open.
    assert refused == ([(reverse("study_graders_latest", args=["optics"]), 403)] if person == "lead" else [])
    assert readable - seen <= UNLINKED


def test_the_table_opens_nothing_to_strangers() -> None:
    table = json.loads(TABLE.read_text(encoding="utf-8"))
    assert table.pop("people").split() == list(PEOPLE)
    for route, methods in table.items():
        assert set(methods) == set(METHODS)
        for method, row in methods.items():
            statuses = dict(zip(PEOPLE, row.split(), strict=True))
            assert not any(status.startswith("5") for status in statuses.values()), (route, method)
            if "<slug:slug>" in route:
                assert statuses["anonymous"] == SIGN_IN, (route, method)
                assert statuses["foreigner"] in ("404", "405"), (route, method)
