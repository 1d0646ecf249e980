"""The administrators' part of the API: monitors, plans, batches and reports."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from adjudication.models import ReferenceStandard
from annotation.models import Study
from core.models import User
from monitoring.engine import waking
from monitoring.models import Batch, Condition, Monitor
from monitoring.report.services import compute_report
from tests.api.build import Program, error_of
from tests.monitoring.build import make_batch, make_model, make_scripted, make_small_standard

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def woken(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    asked: list[int] = []
    monkeypatch.setattr(waking, "send", lambda batch_id, *, drivers=1: asked.append(batch_id))
    return asked


@pytest.fixture
def operator(olga: User) -> Program:
    return Program(olga)


@pytest.fixture
def standard(study: Study) -> ReferenceStandard:
    return make_small_standard(study)


def test_monitors_are_listed_without_any_key(
    operator: Program, study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_KEY", "sk-very-secret")
    make_model(study, key_env="SOME_KEY")
    answer = operator.get("studies/optics/monitors/")
    row = answer.json()["results"][0]
    assert (row["slug"], row["key_env"], row["input_price"]) == ("some-model", "SOME_KEY", "1.00000000")
    assert b"sk-very-secret" not in answer.content


def test_a_plan_tells_calls_and_cost_and_writes_nothing(
    operator: Program, study: Study, standard: ReferenceStandard
) -> None:
    make_model(study)
    plan = operator.get("studies/optics/plan/", monitors="some-model,rules", conditions="BLIND,CERT").json()
    assert [run["condition"] for run in plan["runs"]] == ["BLIND", "CERT"] * 2
    assert plan["runs"][0]["calls"] == 6
    assert plan["cost"] > 0
    assert plan["obstacle"] is None
    assert not Batch.objects.exists()
    assert not Monitor.objects.filter(slug="rules").exists()


def test_a_plan_without_a_price_names_the_obstacle(
    operator: Program, study: Study, standard: ReferenceStandard
) -> None:
    make_model(study, input_price=None, output_price=None)
    plan = operator.get("studies/optics/plan/", monitors="some-model", conditions="BLIND").json()
    assert plan["cost"] is None
    assert "no price" in plan["cost_reason"]
    assert "no price" in plan["obstacle"]


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"monitors": "rules"}, 400),
        ({"monitors": ",", "conditions": "BLIND"}, 400),
        ({"monitors": "nobody", "conditions": "BLIND"}, 422),
        ({"monitors": "rules", "conditions": "SEEING"}, 422),
        ({"monitors": "rules", "conditions": "BLIND", "standard": "9"}, 422),
        ({"monitors": "rules", "conditions": "BLIND", "standard": "one"}, 400),
    ],
)
def test_a_plan_that_cannot_be_is_refused(
    operator: Program, standard: ReferenceStandard, query: dict[str, str], status: int
) -> None:
    answer = operator.get("studies/optics/plan/", **query)
    assert answer.status_code == status
    error_of(answer)


def test_a_batch_is_launched_steered_and_followed(
    operator: Program,
    study: Study,
    standard: ReferenceStandard,
    woken: list[int],
    django_capture_on_commit_callbacks: Any,
) -> None:
    make_scripted(study)
    body = {"monitors": ["scripted"], "conditions": ["BLIND"], "max_cost": "1.5"}
    with django_capture_on_commit_callbacks(execute=True):
        made = operator.post("studies/optics/batches/", body)
    assert made.status_code == 201
    batch = Batch.objects.get()
    assert (batch.max_cost, batch.launched_by_id, woken) == (
        Decimal("1.5"),
        operator_id(operator),
        [batch.pk],
    )
    assert (made.json()["number"], made.json()["calls"], made.json()["done"]) == (1, 6, 0)
    address = "studies/optics/batches/1/"
    for verb, state in [
        ("pause", "paused"),
        ("pause", "paused"),
        ("resume", "running"),
        ("cancel", "cancelled"),
    ]:
        answer = operator.post(f"{address}{verb}/", {} if verb == "resume" else None)
        assert (answer.status_code, answer.json()["status"]) == (200, state)
    assert operator.post(f"{address}resume/", {}).status_code == 409
    assert operator.post(f"{address}pause/").status_code == 409
    shown = operator.get(address).json()
    assert shown["runs"][0]["monitor"] == "scripted"
    assert operator.get("studies/optics/batches/").json()["results"][0]["status"] == "cancelled"


def operator_id(program: Program) -> int:
    return User.objects.get(username=program.get("me/").json()["username"]).pk


def test_failed_calls_are_tried_again(operator: Program, study: Study, standard: ReferenceStandard) -> None:
    make_batch(standard, [make_scripted(study)], conditions=[Condition.BLIND])
    answer = operator.post("studies/optics/batches/1/retry/")
    assert (answer.status_code, answer.json()["retried"]) == (200, 0)


@pytest.mark.parametrize(
    ("change", "status", "field"),
    [
        ({"monitors": []}, 400, "monitors"),
        ({"monitors": "scripted"}, 400, "monitors"),
        ({"conditions": ["SEEING"]}, 400, "conditions.0"),
        ({"max_cost": "-1"}, 400, "max_cost"),
        ({"max_cost": "NaN"}, 400, "max_cost"),
        ({"max_cost": "0"}, 422, None),
        ({"budget": "1"}, 400, "budget"),
        ({"standard": 7}, 422, None),
    ],
)
def test_a_launch_that_cannot_be_is_refused(
    operator: Program,
    study: Study,
    standard: ReferenceStandard,
    change: dict[str, Any],
    status: int,
    field: str | None,
) -> None:
    make_scripted(study)
    body = {"monitors": ["scripted"], "conditions": ["BLIND"], "max_cost": None} | change
    answer = operator.post("studies/optics/batches/", body)
    assert answer.status_code == status, answer.content
    error = error_of(answer)
    if field:
        assert field in error["fields"]
    assert not Batch.objects.exists()


def test_a_launch_says_what_it_may_cost(operator: Program, standard: ReferenceStandard) -> None:
    body = {"monitors": ["rules"], "conditions": ["BLIND"]}
    assert "max_cost" in error_of(operator.post("studies/optics/batches/", body))["fields"]


def test_the_stored_report_is_handed_out(
    operator: Program, study: Study, standard: ReferenceStandard
) -> None:
    missing = operator.get("studies/optics/reports/1/")
    assert missing.status_code == 404
    compute_report(study=study, standard=standard, resamples=20)
    document = operator.get("studies/optics/reports/1/").json()
    assert document["reference"]["traces"] == 6
    assert operator.get("studies/optics/reports/2/").status_code == 404
