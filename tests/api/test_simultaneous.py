"""Many programs at once: no failure, no label lost or doubled."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections

from annotation.models import Label, Role
from tests.annotation.build import make_traces
from tests.api.build import Program
from tests.build import make_person, make_question, make_study, make_trace

pytestmark = pytest.mark.django_db(transaction=True)


def _together(jobs: list[Any]) -> list[Any]:
    def work(job: Any) -> Any:
        try:
            return job()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(jobs)) as pool:
        return [future.result(timeout=60) for future in [pool.submit(work, job) for job in jobs]]


def test_of_many_submits_at_once_one_stands_and_the_rest_are_told() -> None:
    study = make_study(slug="optics")
    ana = make_person("ana", study=study, roles=[Role.ANNOTATOR])
    trace = make_trace(make_question(study))
    program = Program(ana)
    program.get("me/")
    address = f"studies/optics/traces/{trace.token}/label/"
    bodies = [{"final_correct": True, "first_error_step": step} for step in (1, 2)] * 5
    answers = _together([lambda body=body: program.put(address, body) for body in bodies])
    label = Label.objects.get()
    counts = Counter((answer.status_code) for answer in answers)
    assert counts == {200: 5, 409: 5}
    for body, answer in zip(bodies, answers, strict=True):
        assert (answer.status_code == 200) == (body["first_error_step"] == label.first_error_step)


def test_people_who_ask_at_once_get_different_traces() -> None:
    study = make_study(slug="optics")
    make_traces(study, 8)
    programs = [Program(make_person(study=study, roles=[Role.ANNOTATOR])) for _ in range(6)]
    answers = _together([lambda one=one: one.post("studies/optics/next/") for one in programs])
    tokens = [answer.json()["trace"]["token"] for answer in answers]
    assert len(set(tokens)) == 6
