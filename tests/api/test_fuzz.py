"""Whatever is sent, the answer is one that the description tells, and never a failure of ours."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.core.cache import cache
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation.models import Role, Study
from core.api.views import description
from monitoring.engine import waking
from tests.adjudication.build import make_dispute, make_standard
from tests.api.build import Program
from tests.build import make_person
from tests.monitoring.build import make_batch, make_scripted

pytestmark = pytest.mark.django_db

ODD_TEXT = ["", " ", "\x00", "\ud800", "\u202e", "A" * 30_000, "'; DROP TABLE x; --", "{{7*7}}", "none", "A"]
ODD: list[Any] = [None, True, -1, 0, 1, 2.5, 2**31, 2**63, 10**400, 1e308, "1", "NaN", "sNaN", [], {}, [[]]]
ODD += ODD_TEXT
anything = st.sampled_from(ODD) | st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


class _Undo(Exception):
    pass


@contextmanager
def _undone() -> Iterator[None]:
    try:
        with transaction.atomic():
            yield
            raise _Undo
    except _Undo:
        pass


def _resolved(schema: dict[str, Any]) -> dict[str, Any]:
    reference = schema.get("$ref")
    if reference:
        found: dict[str, Any] = description()["components"]["schemas"][reference.rsplit("/", 1)[1]]
        return found
    for word in ("allOf", "oneOf"):
        if word in schema:
            return _resolved(schema[word][0])
    return schema


def _near(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Return values that mostly fit the schema, and now and then do not."""
    schema = _resolved(schema)
    if "enum" in schema:
        fitting: st.SearchStrategy[Any] = st.sampled_from(schema["enum"])
    elif schema.get("type") == "object" and "properties" in schema:
        fitting = st.fixed_dictionaries({name: _near(one) for name, one in schema["properties"].items()})
    elif schema.get("type") == "array":
        fitting = st.lists(_near(schema["items"]), max_size=3)
    elif schema.get("type") == "integer":
        fitting = st.integers(0, 6)
    elif schema.get("type") == "boolean":
        fitting = st.booleans()
    else:
        fitting = st.text(max_size=30)
    return st.integers(0, 5).flatmap(lambda dice: anything if dice == 0 else fitting)


WRITES = [
    (path, method, operation)
    for path, methods in sorted(description()["paths"].items())
    for method, operation in methods.items()
    if method != "get" and "requestBody" in operation
]
LISTS = [
    (path, operation)
    for path, methods in sorted(description()["paths"].items())
    for method, operation in methods.items()
    if method == "get" and any(one["in"] == "query" for one in operation.get("parameters", []))
]


@pytest.fixture
def world(study: Study, monkeypatch: pytest.MonkeyPatch) -> tuple[Program, dict[str, Any]]:
    monkeypatch.setattr(waking, "send", lambda batch_id, *, drivers=1: None)
    dispute = make_dispute(study)
    standard = make_standard(study, allow_open=True)
    make_batch(standard, [make_scripted(study)])
    program = Program(make_person("all", study=study, roles=list(Role)))
    program.get("me/")
    values = {"slug": study.slug, "version": 1, "other": 1, "number": 1}
    return program, {**values, "dispute": dispute.token, "trace": dispute.trace.token}


def _where(path: str, values: dict[str, Any]) -> str:
    token = values["dispute"] if "/disputes/" in path else values["trace"]
    return path.format(**{**values, "token": token})


def test_there_is_something_to_try() -> None:
    assert len(WRITES) >= 9
    assert len(LISTS) >= 8


@pytest.mark.parametrize("place", range(len(WRITES)), ids=[f"{m} {p}" for p, m, _ in WRITES])
def test_no_body_makes_it_fail(world: tuple[Program, dict[str, Any]], place: int) -> None:
    program, values = world
    path, method, operation = WRITES[place]
    shape = operation["requestBody"]["content"]["application/json"]["schema"]

    @settings(
        max_examples=40,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(body=_near(shape) | anything)
    def attempt(body: Any) -> None:
        cache.clear()
        with _undone():
            answer = program.ask(method.upper(), _where(path, values), json.dumps(body).encode())
        assert str(answer.status_code) in operation["responses"], (body, answer.status_code, answer.content)
        assert answer.status_code < 500
        json.loads(answer.content)

    attempt()


@pytest.mark.parametrize("place", range(len(LISTS)), ids=[path for path, _ in LISTS])
def test_no_query_string_makes_it_fail(world: tuple[Program, dict[str, Any]], place: int) -> None:
    program, values = world
    path, operation = LISTS[place]
    names = [one["name"] for one in operation["parameters"] if one["in"] == "query"]
    fit = ["1", "2", "50", "open", "decided", "step", "rules", "BLIND", "true", "9" * 6000]
    value = st.sampled_from([*fit, *(text for text in ODD_TEXT if text != "\ud800")]) | st.text(
        st.characters(exclude_categories=["Cs"]), max_size=20
    )

    @settings(
        max_examples=40,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(query=st.dictionaries(st.sampled_from([*names, "format", "nonsense"]), value, max_size=4))
    def attempt(query: dict[str, str]) -> None:
        cache.clear()
        answer = program.get(_where(path, values), **query)
        assert str(answer.status_code) in operation["responses"], (query, answer.status_code, answer.content)
        json.loads(answer.content)

    attempt()
