"""Schemathesis against the OpenAPI description: no failure of ours, no answer that is not described.

What is sent follows the description or breaks it on purpose. The choice is fixed: a run repeats the last one.
`make fuzz` sends more (FALSESTEP_FUZZ_EXAMPLES per operation).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.core.cache import cache
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, transaction
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.generation.feedback import NO_FEEDBACK
from schemathesis.specs.openapi import checks

from annotation.models import Role, Study
from core.api.views import description
from monitoring.engine import waking
from monitoring.report.services import compute_report
from tests.adjudication.build import make_dispute, make_standard
from tests.api.build import Program
from tests.build import make_person
from tests.monitoring.build import make_batch, make_scripted

pytestmark = pytest.mark.django_db

EXAMPLES = int(os.environ.get("FALSESTEP_FUZZ_EXAMPLES", "9"))
CHECKS = [
    schemathesis.checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]
BOUNDED = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],  # the first failure tells enough, and shrinking it costs more than finding it
    suppress_health_check=list(HealthCheck),
)


class _Undo(Exception):
    pass


@pytest.fixture
def application() -> Iterator[WSGIHandler]:
    """The site as a WSGI server sees it, but for closing the connection that the test's transaction is on."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield WSGIHandler()
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


@pytest.fixture
def world(study: Study, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, str], dict[str, Any]]:
    """A token of somebody with every role, and something real for every place in an address."""
    monkeypatch.setattr(waking, "send", lambda batch_id, *, drivers=1: None)
    dispute = make_dispute(study)
    standard = make_standard(study, allow_open=True)
    make_batch(standard, [make_scripted(study)])
    compute_report(study=study, standard=standard, resamples=20)
    program = Program(make_person("all", study=study, roles=list(Role)))
    program.get("me/")
    values = {"slug": study.slug, "version": 1, "other": 1, "number": 1}
    return program.headers, {**values, "dispute": dispute.token, "trace": dispute.trace.token}


def _cases(operation: Any, values: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Return requests to one operation: mostly to something that exists, half of them as described."""
    token = values["dispute"] if "/disputes/" in operation.path else values["trace"]
    known = {**values, "token": token}
    path = {one.name: known[one.name] for one in operation.path_parameters}
    as_told, broken = GenerationMode.POSITIVE, GenerationMode.NEGATIVE
    return st.one_of(
        operation.as_strategy(generation_mode=as_told, path_parameters=path, feedback=NO_FEEDBACK),
        operation.as_strategy(generation_mode=broken, path_parameters=path, feedback=NO_FEEDBACK),
        operation.as_strategy(generation_mode=as_told, feedback=NO_FEEDBACK),
    )


def test_whatever_is_sent_the_answer_is_one_that_is_described(
    world: tuple[dict[str, str], dict[str, Any]], application: WSGIHandler
) -> None:
    headers, values = world
    schema = schemathesis.openapi.from_dict(description())
    seen: dict[str, set[int]] = {}
    for result in schema.get_all_operations():
        operation = result.ok()

        @BOUNDED
        @given(case=_cases(operation, values))
        def attempt(case: Any) -> None:
            cache.clear()  # the limits on how often one may ask are another test's matter
            try:
                with transaction.atomic():
                    answer = case.call(app=application, headers=headers)
                    raise _Undo
            except _Undo:
                pass
            case.validate_response(answer, checks=CHECKS, headers=headers)
            seen.setdefault(f"{case.method} {case.operation.path}", set()).add(answer.status_code)

        attempt()
    assert len(seen) >= 30
    assert {code for codes in seen.values() for code in codes} >= {200, 400, 404, 409, 422}
