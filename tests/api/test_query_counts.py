"""A list takes the same number of queries whatever its length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from adjudication.models import Dispute
from adjudication.services.disputes import recompute_disputes
from annotation.models import Draft, KeyReport, Role, Study
from core.models import User
from monitoring.engine import waking
from tests.adjudication.build import both, make_standard, settle
from tests.annotation.build import make_traces
from tests.api.build import Program
from tests.build import make_label, make_person, make_question, make_study, make_trace
from tests.monitoring.build import make_batch, make_scripted, make_small_standard

pytestmark = pytest.mark.django_db


@pytest.fixture
def person(study: Study) -> User:
    return make_person("all", study=study, roles=list(Role))


def _studies(study: Study, person: User, size: int) -> None:
    for _ in range(size):
        other = make_study()
        for role in Role:
            other.memberships.create(person=person, role=role)


def _labels(study: Study, person: User, size: int) -> None:
    for trace in make_traces(study, size):
        make_label(trace, labeller=person.username, person=person)


def _drafts(study: Study, person: User, size: int) -> None:
    for trace in make_traces(study, size):
        Draft.objects.create(trace=trace, person=person)


def _questions(study: Study, person: User, size: int) -> None:
    for trace in make_traces(study, 3 * size):
        KeyReport.objects.get_or_create(
            question=trace.question, reporter=person, reference_version=1, defaults={"reason": "x"}
        )


def _reports(study: Study, person: User, size: int) -> None:
    for _ in range(size):
        question = make_question(study)  # without a trace there is nothing left to judge
        KeyReport.objects.create(question=question, reporter=person, reference_version=1, reason="x")


def _disputes(study: Study, person: User, size: int) -> None:
    question = make_question(study)
    for _ in range(2 * size):
        both(make_trace(question), (True, 2), (False, 3))
    recompute_disputes(study=study)
    for found in list(Dispute.objects.filter(status="open").select_related("study", "trace__question"))[
        :size
    ]:
        settle(found, person)


def _standards(study: Study, person: User, size: int) -> None:
    for _ in range(size):
        both(make_trace(make_question(study)), (True, None), (True, None))
        make_standard(study, actor=person)


def _monitors(study: Study, person: User, size: int) -> None:
    for number in range(size):
        make_scripted(study, slug=f"m{number}-{study.monitors.count()}")


def _batches(study: Study, person: User, size: int) -> None:
    standard = study.standards.first() or make_small_standard(study)
    monitor = study.monitors.first() or make_scripted(study)
    for _ in range(size):
        make_batch(standard, [monitor])


LISTS: dict[str, Callable[[Study, User, int], None]] = {
    "studies/": _studies,
    "studies/optics/labels/": _labels,
    "studies/optics/drafts/": _drafts,
    "studies/optics/questions/": _questions,
    "studies/optics/key-reports/": _reports,
    "studies/optics/disputes/?state=open": _disputes,
    "studies/optics/disputes/?state=decided": _disputes,
    "studies/optics/standards/": _standards,
    "studies/optics/monitors/": _monitors,
    "studies/optics/batches/": _batches,
}


@pytest.mark.parametrize("path", LISTS)
def test_a_list_takes_the_same_queries_whatever_its_length(
    study: Study, person: User, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waking, "send", lambda batch_id, *, drivers=1: None)
    program = Program(person)
    program.get("me/")  # the hour of the token's use is written once

    def ask() -> tuple[int, int]:
        with CaptureQueriesContext(
            connection,
        ) as queries:
            answer = program.get(path)
        assert answer.status_code == 200, answer.content
        return len(queries), len(answer.json()["results"])

    LISTS[path](study, person, 2)
    few, shown = ask()
    LISTS[path](study, person, 10)
    many, more = ask()
    assert more >= shown + 10
    assert few == many
    assert many <= 9


@pytest.mark.parametrize("n_steps", [3, 80])
def test_a_trace_takes_the_same_queries_whatever_its_length(
    study: Study, person: User, n_steps: int, django_assert_max_num_queries: Any
) -> None:
    trace = make_trace(make_question(study), n_steps=n_steps)
    program = Program(person)
    program.get("me/")
    with django_assert_max_num_queries(12):
        assert program.get(f"studies/optics/traces/{trace.token}/").status_code == 200
