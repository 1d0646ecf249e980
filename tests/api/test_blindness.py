"""The API tells a lead nothing of who said what before the decision, and an annotator nothing of the rest."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache
from django.db import transaction

from adjudication.api import views
from adjudication.models import Dispute
from adjudication.services.disputes import recompute_disputes
from annotation.models import Role, Study, Trace
from core.models import User
from tests.adjudication.build import DEBATE, HUMAN, Said, label_trace, make_dispute
from tests.annotation.build import make_traces
from tests.api.build import Program
from tests.api.routes import address, routes
from tests.build import make_label, make_person, make_question, make_trace

pytestmark = pytest.mark.django_db

TOKEN = "0123456789abcdef0123"
SAID: list[list[Said]] = [
    [(HUMAN, "ana", True, 2), (DEBATE, "gpt-model", True, 4)],
    [(HUMAN, "ana", True, None), (DEBATE, "gpt-model", False, None)],
    [(HUMAN, "ana", True, 2), (HUMAN, "ben", True, 2), (DEBATE, "gpt-model", True, 3)],
    [(HUMAN, "ana", True, 2), (HUMAN, "ben", False, 5), (DEBATE, "gpt-model", True, None)],
]


class _Rollback(Exception):
    pass


def _swapped(said: list[Said]) -> list[Said]:
    other = {HUMAN: DEBATE, DEBATE: HUMAN}
    return [(other[arm], labeller, right, step) for arm, labeller, right, step in said]


def _read(program: Program, values: dict[str, object]) -> list[tuple[str, str, int, bytes, str]]:
    """Ask every route for everything a lead can ask before deciding; refusals are answers too."""
    bad_ruling = {"choice": "proposal", "mark": "Q", "rationale": "x", "expected_revision": 0, "seen": "x"}
    answers = []
    for route in routes():
        for method, body in (("GET", None), ("POST", {}), ("POST", bad_ruling)):
            if route.endswith("schema/"):
                continue
            answer = program.ask(method, address(route, values), body)
            # Each request has an id of its own.
            headers = repr(sorted(item for item in answer.headers.items() if item[0] != "X-Request-ID"))
            answers.append((method, route, answer.status_code, answer.content, headers))
    for query in ({"state": "open"}, {"kind": "step"}, {"kind": "answer"}, {"page_size": 1}):
        answer = program.get(f"studies/{values['slug']}/disputes/", **query)
        answers.append(("GET", str(query), answer.status_code, answer.content, ""))
    return answers


def _under(study: Study, trace: Trace, program: Program, labels: list[Said]) -> list[Any]:
    """Return all answers with these labels in the database, and take them out again."""
    answers: list[Any] = []
    cache.clear()
    with pytest.raises(_Rollback), transaction.atomic():
        label_trace(trace, labels)
        recompute_disputes(study=study)
        Dispute.objects.update(token=TOKEN)
        answers = _read(program, {"slug": study.slug, "token": TOKEN, "version": 1, "other": 1, "number": 1})
        raise _Rollback
    return answers


@pytest.mark.parametrize("said", SAID)
@pytest.mark.parametrize("roles", [[Role.LEAD], [Role.LEAD, Role.ADMINISTRATOR]])
def test_with_the_arms_exchanged_every_answer_is_the_same_to_the_byte(
    study: Study, said: list[Said], roles: list[Role]
) -> None:
    program = Program(make_person("lea", study=study, roles=roles))
    program.get("me/")
    trace = make_trace(make_question(study))
    there = _under(study, trace, program, said)
    shown = [
        answer for answer in there if answer[1].endswith("disputes/<slug:token>/") and answer[0] == "GET"
    ]
    assert [answer[2] for answer in shown] == [200]
    assert len(json.loads(shown[0][3])["proposals"]) > 1
    assert _under(study, trace, program, _swapped(said)) == there


def test_the_comparison_notices_an_answer_that_tells_an_arm(
    study: Study, adam: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = views._dispute

    def leaky(dispute: Dispute, person: User) -> dict[str, Any]:
        first = dispute.trace.labels.order_by("labeller").first()
        assert first is not None
        return {**original(dispute, person), "subject": first.arm}

    monkeypatch.setattr(views, "_dispute", leaky)
    program = Program(adam)
    program.get("me/")
    trace = make_trace(make_question(study))
    there = _under(study, trace, program, SAID[0])
    assert _under(study, trace, program, SAID[0]) == there
    assert _under(study, trace, program, _swapped(SAID[0])) != there


def _walk(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield path, key
            yield from _walk(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from _walk(inner, path)
    else:
        yield path, str(value)


def test_an_annotator_learns_no_generator_no_stored_label_and_no_arm(study: Study, ana: User) -> None:
    program = Program(ana)
    traces = make_traces(study, 4, generator="generator-secret")
    for trace in traces:
        make_label(trace, labeller="ben", first_error_step=3, comment="bens words")
        make_label(trace, arm=DEBATE, labeller="debate", comment="debated words")
    Study.objects.filter(pk=study.pk).update(overlap=2)
    token = traces[0].token
    values = {"slug": study.slug, "token": token, "version": 1, "other": 1, "number": 1}
    label = {"final_correct": False, "first_error_step": 2}
    answers = [
        program.post(f"studies/{study.slug}/next/"),
        program.put(f"studies/{study.slug}/traces/{token}/draft/", {"comment": "mine"}),
        program.get(f"studies/{study.slug}/traces/{token}/draft/"),
        program.put(f"studies/{study.slug}/traces/{token}/label/", label),
        program.put(f"studies/{study.slug}/traces/{token}/label/", {**label, "first_error_step": 3}),
        program.put(f"studies/{study.slug}/traces/{token}/label/", {**label, "first_error_step": 99}),
        program.post(f"studies/{study.slug}/traces/{traces[1].token}/skip/", {"reason": "not mine"}),
        program.get(f"studies/{study.slug}/traces/{token}/", rendered="true"),
        *(program.get(address(route, values)) for route in routes() if not route.endswith("schema/")),
    ]
    assert sum(answer.status_code == 200 for answer in answers) >= 12
    forbidden = ["generator", "bens words", "debated words", "ben", "debate", "arm", "human"]
    forbidden += [trace.response_label for trace in traces]
    told = [
        (answer.request["PATH_INFO"], *found, word)
        for answer in answers
        for found in _walk(answer.json())
        for word in forbidden
        if not answer.request["PATH_INFO"].endswith("/guideline/")
        if re.search(rf"\b{re.escape(word)}\b", found[1].replace("_", " "), re.IGNORECASE)
    ]
    assert told == []


def test_no_answer_holds_a_primary_key(study: Study, ana: User, adam: User) -> None:
    """Keys tell the order of import, and so the generator."""
    dispute = make_dispute(study)
    values = {"slug": study.slug, "version": 1, "other": 1, "number": 1}
    for person in (ana, adam):
        program = Program(person)
        for route in routes():
            token = dispute.token if "/disputes/" in route else dispute.trace.token
            answer = program.get(address(route, {**values, "token": token}))
            if answer.status_code == 200 and not route.endswith("schema/"):
                keys = {key for _, key in _walk(answer.json())}
                assert not keys & {"id", "pk", "trace_id", "label_id", "response_label", "generator"}


def test_the_letter_is_the_one_of_the_page(study: Study, ana: User, client: Any) -> None:
    traces = make_traces(study, 3)
    program = Program(ana)
    letters = {
        trace.token: program.get(f"studies/{study.slug}/traces/{trace.token}/").json()["letter"]
        for trace in traces
    }
    assert sorted(letters.values()) == ["A", "B", "C"]
    client.force_login(ana)
    for token, letter in letters.items():
        page = client.get(f"/studies/{study.slug}/traces/{token}/").content.decode()
        assert re.search(rf"Solution\s+{letter}\b|solution\s+{letter}\b", page)
