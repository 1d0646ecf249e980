"""Every route, every person and every method against the table access_matrix.json.

A route that the table lacks fails. To write the table anew, and then to read it line by line in the diff:
FALSESTEP_WRITE_MATRIX=1 pytest tests/api/test_access_matrix.py
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from django.core.cache import cache
from django.db import transaction

from adjudication.models import Dispute
from annotation.models import Role, Study
from core.models import User
from monitoring.engine import waking
from monitoring.report.services import compute_report
from tests.adjudication.build import make_dispute, make_standard
from tests.api.build import Program
from tests.api.routes import address, routes
from tests.build import make_person, make_study
from tests.monitoring.build import make_batch, make_scripted

pytestmark = pytest.mark.django_db

TABLE = Path(__file__).parent / "access_matrix.json"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
PEOPLE = ("anonymous", "annotator", "lead", "administrator", "foreigner")


class _Undo(Exception):
    pass


@pytest.fixture
def people(study: Study, ana: User, adam: User, olga: User) -> dict[str, Program]:
    """One program for each kind of person; the foreigner has every role in another study."""
    other = make_study(slug="other")
    foreigner = make_person("fay", study=other, roles=list(Role))
    return dict(zip(PEOPLE, map(Program, (None, ana, adam, olga, foreigner)), strict=True))


@pytest.fixture
def values(study: Study, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """Something real in every place of an address."""
    monkeypatch.setattr(waking, "send", lambda batch_id, *, drivers=1: None)
    dispute = make_dispute(study)
    standard = make_standard(study, allow_open=True)
    make_batch(standard, [make_scripted(study)])
    compute_report(study=study, standard=standard, resamples=20)
    return {"slug": study.slug, "dispute": dispute.token, "trace": dispute.trace.token, "version": 1} | {
        "other": 1,
        "number": 1,
    }


def _answers(people: dict[str, Program], values: dict[str, object], route: str) -> dict[str, dict[str, int]]:
    """Return {method: {person: status}} with an empty body: a gate comes before the body is read."""
    token = values["dispute"] if "/disputes/" in route else values["trace"]
    path = address(route, {**values, "token": token})
    found: dict[str, dict[str, int]] = {}
    for method in METHODS:
        for name, program in people.items():
            try:
                with transaction.atomic():
                    answer = program.ask(method, path)
                    raise _Undo
            except _Undo:
                found.setdefault(method, {})[name] = answer.status_code
            if answer.status_code >= 400 and method != "HEAD":
                assert answer.headers["Content-Type"] == "application/json", (method, path)
                assert answer.json()["error"]["message"]
    return found


def test_every_route_answers_every_person_as_the_table_says(
    people: dict[str, Program], values: dict[str, object]
) -> None:
    found = {}
    for route in routes():
        cache.clear()  # the limits on how often one may ask are another test's matter
        found[route] = _answers(people, values, route)
    if os.environ.get("FALSESTEP_WRITE_MATRIX"):
        TABLE.write_text(_written(found), encoding="utf-8")
    expected = json.loads(TABLE.read_text(encoding="utf-8"))
    assert sorted(found) == sorted(expected), "a route is not in the table, or the table has one too many"
    for route, methods in found.items():
        assert methods == expected[route], route


def _written(found: dict[str, dict[str, dict[str, int]]]) -> str:
    lines = []
    for route, methods in found.items():
        rows = ",\n".join(f"    {json.dumps(name)}: {json.dumps(row)}" for name, row in methods.items())
        lines.append(f"  {json.dumps(route)}: {{\n{rows}\n  }}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def test_the_table_opens_nothing_to_strangers() -> None:
    table = json.loads(TABLE.read_text(encoding="utf-8"))
    for route, methods in table.items():
        for method, row in methods.items():
            assert row["anonymous"] == 401, (route, method)
            if "<slug:slug>" in route:
                assert row["foreigner"] in (404, 405), (route, method)


@pytest.mark.parametrize("person", ["annotator", "lead", "administrator"])
def test_a_token_of_another_study_is_not_found_through_ones_own(
    people: dict[str, Program], values: dict[str, object], person: str
) -> None:
    other = Study.objects.get(slug="other")
    foreign = make_dispute(other)
    for route in routes():
        if "<slug:token>" not in route:
            continue
        token = foreign.token if "/disputes/" in route else foreign.trace.token
        for method in ("GET", "POST", "PUT"):
            answer = people[person].ask(method, address(route, {**values, "token": token}), {})
            assert answer.status_code in (403, 404, 405), (method, route)
    assert Dispute.objects.get(pk=foreign.pk).status == Dispute.Status.OPEN
