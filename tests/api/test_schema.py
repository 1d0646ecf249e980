"""The OpenAPI description is whole, valid, and true of what the API answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from django.core.management import call_command
from django.test import Client

from annotation.models import Role, Study
from core.models import User
from monitoring.engine import waking
from monitoring.report.services import compute_report
from tests.adjudication.build import make_dispute, make_standard
from tests.annotation.build import make_traces
from tests.api.build import Program
from tests.api.routes import PARAMETER, address, routes
from tests.build import make_label, make_person
from tests.monitoring.build import make_batch, make_scripted

pytestmark = pytest.mark.django_db


@pytest.fixture
def schema(ana: User) -> dict[str, Any]:
    return dict(Program(ana).get("schema/").json())


def test_it_validates_without_a_warning(tmp_path: Path) -> None:
    call_command("spectacular", "--validate", "--fail-on-warn", "--file", str(tmp_path / "schema.yml"))


def test_nobody_reads_it_without_signing_in(client: Client) -> None:
    assert client.get("/api/v1/schema/").status_code == 401


def test_every_route_is_described(schema: dict[str, Any]) -> None:
    written = {"/" + PARAMETER.sub(r"{\1}", route) for route in routes()}
    assert written - schema["paths"].keys() == {"/api/", "/api/v1/schema/"}
    assert schema["paths"].keys() <= written


def _operations(schema: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (path, method, operation)
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    ]


def test_every_operation_has_a_name_words_and_its_errors(schema: dict[str, Any]) -> None:
    operations = _operations(schema)
    names = [operation["operationId"] for _, _, operation in operations]
    assert len(set(names)) == len(names)
    for path, method, operation in operations:
        assert operation["description"], (path, method)
        wanted = {"401", "403", "429"} | ({"404"} if "{" in path else set())
        if method != "get":
            wanted |= {"400", "409", "422"}
        assert wanted <= operation["responses"].keys(), (path, method)
        assert operation["security"] == [{"token": []}, {"session": []}]
        for code, response in operation["responses"].items():
            if code >= "400":
                content = response["content"]["application/json"]["schema"]
                assert content == {"$ref": "#/components/schemas/Error"}


def _check(schema: dict[str, Any], path: str, method: str, answer: Any) -> None:
    """Hold an answer against the schema of its status; a status that is not described fails."""
    responses = schema["paths"][path][method]["responses"]
    assert str(answer.status_code) in responses, (path, method, answer.status_code)
    content = responses[str(answer.status_code)]["content"]["application/json"]["schema"]
    jsonschema.Draft202012Validator({**content, "components": _closed(schema["components"])}).validate(
        answer.json()
    )


def _closed(value: Any) -> Any:
    """Return the components with every object closed, and OpenAPI 3.0's `nullable` in JSON Schema's words."""
    if isinstance(value, list):
        return [_closed(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    made = {key: _closed(inner) for key, inner in value.items()}
    if made.get("type") == "object" and "properties" in made:
        made.setdefault("additionalProperties", False)
    if made.pop("nullable", False):
        made = {"anyOf": [made, {"type": "null"}]}
    return made


def test_answers_are_as_described_field_by_field(
    study: Study, schema: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waking, "send", lambda batch_id, *, drivers=1: None)
    person = make_person("all", study=study, roles=list(Role))
    dispute = make_dispute(study)
    make_label(make_traces(study, 1)[0], labeller=person.username, person=person)
    standard = make_standard(study, allow_open=True, actor=person)
    make_batch(standard, [make_scripted(study)])
    compute_report(study=study, standard=standard, resamples=20)
    program = Program(person)
    trace = f"studies/{study.slug}/traces/{dispute.trace.token}/"
    program.put(trace + "draft/", {"comment": "half"})
    program.post(trace + "key-report/", {"reason": "the unit"})
    values = {"slug": study.slug, "version": 1, "other": 1, "number": 1}
    seen = program.get(f"studies/{study.slug}/disputes/{dispute.token}/").json()["seen"]
    ruling = {"choice": "proposal", "mark": "A", "rationale": "x", "expected_revision": 0, "seen": seen}
    bodies: dict[tuple[str, str], Any] = {
        ("put", "label/"): {"final_correct": True, "first_error_step": 2},
        ("put", "draft/"): {"comment": "more", "expected_version": 1},
        ("post", "key-report/"): {"reason": "the unit"},
        ("post", "skip/"): {"reason": "not mine"},
        ("post", "decide/"): ruling,
        ("post", "undo/"): {"expected_revision": 1},
        ("post", "standards/"): {"allow_open": True},
        ("post", "batches/"): {"monitors": ["rules"], "conditions": ["BLIND"], "max_cost": None},
        ("post", "resume/"): {},
    }
    good = 0
    for path, method, _ in sorted(_operations(schema), key=lambda one: (one[1], one[0])):
        route = next(route for route in routes() if "/" + PARAMETER.sub(r"{\1}", route) == path)
        token = dispute.token if "/disputes/" in route else dispute.trace.token
        where = address(route, {**values, "token": token})
        query = {"monitors": "rules", "conditions": "BLIND"} if path.endswith("/plan/") else {}
        if method == "get" and path.endswith("{token}/") and "/traces/" in path:
            query = {"rendered": "true"}
        last = path.rstrip("/").rsplit("/", 1)[-1] + "/"
        answer = program.ask(method.upper(), where, bodies.get((method, last)), **query)
        _check(schema, path, method, answer)
        good += answer.status_code < 300
        for refused in ({"no such field": 1}, None):
            bad = program.ask(
                method.upper(), where, refused, **({"nonsense": "1"} if method == "get" else {})
            )
            _check(schema, path, method, bad)
        _check(schema, path, method, Program(None).ask(method.upper(), where))
    assert good >= 25, "most operations should have been seen to succeed"


def test_the_check_of_answers_can_fail(schema: dict[str, Any], ana: User) -> None:
    class Answer:
        status_code = 200

        def __init__(self, content: dict[str, Any]) -> None:
            self.content = content

        def json(self) -> dict[str, Any]:
            return self.content

    content = Program(ana).get("me/").json()
    _check(schema, "/api/v1/me/", "get", Answer(content))
    for change in ({"pk": 1}, {"username": None}, {"token": {"prefix": "x"}}):
        with pytest.raises(jsonschema.ValidationError):
            _check(schema, "/api/v1/me/", "get", Answer({**content, **change}))


def test_the_description_is_plain_json(schema: dict[str, Any]) -> None:
    assert schema["openapi"].startswith("3.")
    assert json.loads(json.dumps(schema)) == schema
