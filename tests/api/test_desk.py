"""The annotators' part of the API: the same rules as at the desk."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.models import Draft, KeyReport, Label, Skip, Study, Trace
from core.models import User
from tests.annotation.build import make_traces
from tests.api.build import Program, error_of
from tests.build import make_label, make_question, make_study, make_trace

pytestmark = pytest.mark.django_db

RIGHT = {"final_correct": True, "first_error_step": None}
WRONG = {"final_correct": False, "first_error_step": 2}


@pytest.fixture
def program(ana: User) -> Program:
    return Program(ana)


def _path(study: Study, token: str, part: str = "") -> str:
    return f"studies/{study.slug}/traces/{token}/{part}"


def test_a_person_sees_their_own_studies_only(program: Program, study: Study) -> None:
    make_study(slug="foreign")
    content = program.get("studies/").json()
    assert content["count"] == 1
    assert content["results"] == [
        {"slug": "optics", "name": "Optics pilot", "kind": "main", "roles": ["annotator"]}
    ]


def test_a_study_tells_an_annotator_their_counts(program: Program, study: Study) -> None:
    traces = make_traces(study, 4)
    program.put(_path(study, traces[0].token, "label/"), RIGHT)
    content = program.get("studies/optics/").json()
    assert content["progress"]["mine"] == 1
    assert content["progress"]["left"] == 3
    assert content["stages"] is None


def test_a_lead_gets_the_stages_and_no_queue(study: Study, adam: User) -> None:
    content = Program(adam).get("studies/optics/").json()
    assert content["progress"] is None
    assert "questions" in {stage["key"] for stage in content["stages"]}


def test_the_whole_way_of_a_trace(program: Program, study: Study, ana: User) -> None:
    trace = make_trace(make_question(study, answer="42 m"), n_steps=4)
    claimed = program.post("studies/optics/next/").json()["trace"]
    assert claimed["token"] == trace.token
    assert [step["text"] for step in claimed["steps"]] == trace.steps
    assert claimed["reference_answer"] == {"version": 1, "text": "42 m"}
    assert claimed["revision"] == 0 and claimed["label"] is None
    again = program.post("studies/optics/next/").json()["trace"]
    assert again["token"] == trace.token
    answer = program.put(_path(study, trace.token, "label/"), WRONG | {"comment": "the sign"})
    assert answer.status_code == 200
    assert answer.json()["revision"] == 1
    assert answer.json()["guideline_version"] == 1
    shown = program.get(_path(study, trace.token)).json()
    assert shown["revision"] == 1
    assert shown["label"]["first_error_step"] == 2
    last = program.post("studies/optics/next/").json()
    assert last["trace"] is None
    assert last["progress"]["mine"] == 1
    assert Label.objects.get().person == ana


def test_the_same_label_twice_is_one(program: Program, study: Study) -> None:
    trace = make_trace(make_question(study))
    answers = [program.put(_path(study, trace.token, "label/"), WRONG) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].content == answers[1].content
    assert Label.objects.count() == 1


def test_other_judgements_on_a_stale_revision_are_409(program: Program, study: Study) -> None:
    trace = make_trace(make_question(study))
    address = _path(study, trace.token, "label/")
    program.put(address, WRONG)
    refused = program.put(address, RIGHT)
    assert refused.status_code == 409
    assert error_of(refused)["code"] == "conflict"
    assert program.put(address, RIGHT | {"expected_revision": 1}).json()["revision"] == 2


@pytest.mark.parametrize(
    ("change", "field", "status"),
    [
        ({"final_correct": None}, "final_correct", 400),
        ({"final_correct": "true"}, "final_correct", 400),
        ({"final_correct": 1}, "final_correct", 400),
        ({"first_error_step": "2"}, "first_error_step", 400),
        ({"first_error_step": 2.0}, "first_error_step", 400),
        ({"first_error_step": True}, "first_error_step", 400),
        ({"first_error_step": 0}, "first_error_step", 400),
        ({"first_error_step": 10**30}, "first_error_step", 400),
        ({"first_error_step": 6}, None, 422),
        ({"comment": "a\x00b"}, "comment", 400),
        ({"comment": 5}, "comment", 400),
        ({"step": 2}, "step", 400),
    ],
)
def test_a_label_that_does_not_hold_is_refused(
    program: Program, study: Study, change: dict[str, Any], field: str | None, status: int
) -> None:
    trace = make_trace(make_question(study), n_steps=5)
    answer = program.put(_path(study, trace.token, "label/"), WRONG | change)
    assert answer.status_code == status
    error = error_of(answer)
    assert error["code"] == {400: "invalid", 422: "refused"}[status]
    if field:
        assert error["fields"][field]
    assert not Label.objects.exists()


@pytest.mark.parametrize("missing", ["final_correct", "first_error_step"])
def test_neither_judgement_is_preset(program: Program, study: Study, missing: str) -> None:
    trace = make_trace(make_question(study))
    body = {name: value for name, value in WRONG.items() if name != missing}
    answer = program.put(_path(study, trace.token, "label/"), body)
    assert answer.status_code == 400
    assert missing in error_of(answer)["fields"]


def test_a_draft_is_kept_and_a_late_one_refused(program: Program, study: Study) -> None:
    trace = make_trace(make_question(study))
    address = _path(study, trace.token, "draft/")
    assert program.get(address).status_code == 404
    first = program.put(address, {"final_correct": False, "comment": "half"})
    assert first.status_code == 200
    assert program.get(address).json() == first.json()
    assert first.json()["first_error"] == ""
    late = program.put(address, {"comment": "late"})
    assert late.status_code == 409
    second = program.put(address, {"first_error": "step", "first_error_step": 3, "expected_version": 1})
    assert second.json()["version"] == 2
    assert program.get("studies/optics/drafts/").json()["results"][0]["token"] == trace.token
    program.put(_path(study, trace.token, "label/"), WRONG)
    assert not Draft.objects.exists()
    assert program.put(address, {"expected_version": 2}).status_code == 409
    assert program.get(address).status_code == 404


def test_a_key_is_reported_once(program: Program, study: Study) -> None:
    trace = make_trace(make_question(study))
    address = _path(study, trace.token, "key-report/")
    for _ in range(2):
        assert program.post(address, {"reason": "the unit is wrong"}).status_code == 200
    assert program.post(address, {"reason": "another"}).status_code == 409
    assert program.post(address, {"reason": " "}).status_code == 400
    assert KeyReport.objects.count() == 1
    shown = program.get(_path(study, trace.token)).json()["key_report"]
    assert (shown["reason"], shown["reference_version"]) == ("the unit is wrong", 1)


def test_a_key_that_the_study_hides_is_neither_shown_nor_reported(program: Program, study: Study) -> None:
    Study.objects.update(show_reference_answer=False)
    trace = make_trace(make_question(study, answer="secret"))
    answer = program.get(_path(study, trace.token))
    assert answer.json()["reference_answer"] is None
    assert b"secret" not in answer.content
    assert program.post(_path(study, trace.token, "key-report/"), {"reason": "x"}).status_code == 422


def test_a_skipped_trace_does_not_come_again(program: Program, study: Study) -> None:
    trace = make_trace(make_question(study))
    for _ in range(2):
        assert program.post(_path(study, trace.token, "skip/"), {"reason": "not my field"}).status_code == 200
    assert Skip.objects.count() == 1
    assert program.post("studies/optics/next/").json()["trace"] is None


def test_steps_are_raw_unless_html_is_asked_for(program: Program, study: Study) -> None:
    trace = make_trace(
        make_question(study), steps=["(1) Take $x<1$ <script>alert(1)</script>", "(2) So $y$."]
    )
    raw = program.get(_path(study, trace.token)).json()
    assert raw["steps"][0] == {"number": 1, "text": trace.steps[0]}
    assert "question_html" not in raw
    step = program.get(_path(study, trace.token), rendered="true").json()["steps"][0]
    assert "<math" in step["html"] and "<script" not in step["html"]
    assert program.get(_path(study, trace.token), rendered="perhaps").status_code == 400
    assert program.get(_path(study, trace.token), render="true").status_code == 400


def test_a_trace_without_text_is_shown_and_not_labelled(program: Program, study: Study) -> None:
    bare = Trace.objects.create(
        study=study, question=make_question(study), cut="text_free", n_steps=7, sha256="0" * 64
    )
    shown = program.get(_path(study, bare.token)).json()
    assert (shown["steps"], shown["n_steps"]) == ([], 7)
    assert program.put(_path(study, bare.token, "label/"), WRONG).status_code == 422


def test_the_own_list_holds_ones_own_labels(program: Program, study: Study) -> None:
    traces = make_traces(study, 3)
    make_label(traces[0], labeller="ben")
    program.put(_path(study, traces[1].token, "label/"), WRONG | {"comment": "c"})
    content = program.get("studies/optics/labels/").json()
    assert content["count"] == 1
    row = content["results"][0]
    assert row["token"] == traces[1].token
    assert row["label"]["comment"] == "c"


def test_the_guideline_is_the_one_shown_at_the_desk(program: Program, study: Study) -> None:
    content = program.get("studies/optics/guideline/").json()
    assert content["version"] == 1
    assert "error" in content["text"]


def test_pages_are_bounded(program: Program, study: Study, ana: User) -> None:
    for trace in make_traces(study, 205, n_steps=1):
        make_label(trace, labeller="ana", person=ana)
    first = program.get("studies/optics/labels/").json()
    assert (first["count"], len(first["results"])) == (205, 50)
    assert len(program.get("studies/optics/labels/", page_size=1000).json()["results"]) == 200
    tokens: list[str] = []
    for page in (1, 2, 3):
        rows = program.get("studies/optics/labels/", page=page, page_size=100).json()["results"]
        tokens += [row["token"] for row in rows]
    assert len(set(tokens)) == len(tokens) == 205
    beyond = program.get("studies/optics/labels/", page=99)
    assert beyond.status_code == 404
    assert error_of(beyond)["code"] == "not_found"


def test_a_pilot_takes_its_further_fields(program: Program, study: Study) -> None:
    Study.objects.filter(pk=study.pk).update(kind="pilot")
    trace = make_trace(make_question(Study.objects.get(pk=study.pk)), n_steps=4)
    path = f"studies/optics/traces/{trace.token}/"
    kept = program.put(f"{path}draft/", {"coherence": "partly"})
    assert (kept.status_code, kept.json()["coherence"]) == (200, "partly")
    label = {"final_correct": False, "first_error_step": 2, "coherence": "partly", "error_type": "numerical"}
    assert program.put(f"{path}label/", {**label, "error_type": "odd"}).status_code == 400
    assert program.put(f"{path}label/", label).status_code == 200
    assert trace.labels.get().pilot.error_type == "numerical"
