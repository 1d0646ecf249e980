"""import_traces: what is imported, what is unchanged, what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from django.core.management import CommandError, call_command
from django.db.models import QuerySet

from annotation.imports.studies import study_for_import
from annotation.imports.traces import import_traces
from annotation.models import Label, Question, ReferenceAnswer, Study, Trace
from core import audit
from core.errors import ImportRefused, UserError
from core.models import AuditEntry
from tests.annotation.files import TEXT, mistake_row, question_row, write_lines

pytestmark = pytest.mark.django_db

COUNTED = (Study, Question, ReferenceAnswer, Trace, Label, AuditEntry)


def counts() -> list[int]:
    return [model.objects.count() for model in COUNTED]


def bring(path: Path, **options: Any) -> Any:
    return import_traces(path=path, study_slug="optics", **options)


def refusals(path: Path, **options: Any) -> list[tuple[int, str]]:
    before = counts()
    with pytest.raises(ImportRefused) as refusal:
        bring(path, **options)
    assert counts() == before, "a refused file leaves nothing behind"
    return [(row.line, row.reason) for row in refusal.value.rows]


def test_it_imports_questions_with_traces_and_makes_the_study(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_lines(
        tmp_path / "q.jsonl",
        question_row(
            "q1",
            n_traces=2,
            rationale="Counting.",
            subject="arithmetic",
            corrected_answer={"text": "two", "reason": "in words"},
        ),
        question_row("q2", status="excluded", exclusion_reason="too easy"),
        question_row("q3", traces=[{"response_label": "Response A", "steps": ["a", "b"]}]),
        question_row("q4", traces=[{"response_label": "Response A", "text": "So: no marks"}]),
    )
    call_command("import_traces", str(path), study="optics")
    out = capsys.readouterr().out
    assert 'study "optics" is made' in out
    assert "new: 4 questions, 5 traces, 0 labels (falsestep)" in out
    trace = Trace.objects.get(question__external_id="q1", response_label="Response B")
    assert (trace.cut, trace.n_steps, trace.generator) == ("numbered", 3, "model-x")
    assert trace.text == TEXT
    assert trace.source == "q.jsonl:1"
    question = trace.question
    assert (question.statement, question.rationale, question.subject) == (
        "What is $1 + 1$?",
        "Counting.",
        "arithmetic",
    )
    assert list(question.reference_answers.values_list("version", "text", "reason")) == [
        (1, "2", ""),
        (2, "two", "in words"),
    ]
    excluded = Question.objects.get(external_id="q2")
    assert (excluded.status, excluded.exclusion_reason) == ("excluded", "too easy")
    listed = Trace.objects.get(question__external_id="q3")
    assert (listed.cut, listed.steps) == ("listed", ["a", "b"])
    assert Trace.objects.get(question__external_id="q4").cut == "unsegmented"
    actions = list(AuditEntry.objects.filter(chain__scope="optics").values_list("action", flat=True))
    assert sorted(actions) == ["study made", "traces imported"]
    assert not list(audit.verify())


def test_importing_twice_changes_nothing_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_lines(tmp_path / "q.jsonl", *[question_row(f"q{n}", n_traces=3) for n in range(12)])
    call_command("import_traces", str(path), study="optics")
    before = counts()
    capsys.readouterr()
    call_command("import_traces", str(path), study="optics")
    assert capsys.readouterr().out == "nothing new: 36 traces were already here\n"
    assert counts() == before


def test_a_longer_file_adds_only_what_is_new(tmp_path: Path) -> None:
    bring(write_lines(tmp_path / "a.jsonl", question_row("q1")))
    report = bring(write_lines(tmp_path / "b.jsonl", question_row("q1", n_traces=2), question_row("q2")))
    assert (report.new["questions"], report.new["traces"]) == (1, 2)
    assert (report.same["questions"], report.same["traces"]) == (1, 1)


def test_a_question_on_two_lines_gathers_its_traces(tmp_path: Path) -> None:
    other = [{"response_label": "Response B", "text": TEXT}]
    report = bring(write_lines(tmp_path / "a.jsonl", question_row("q1"), question_row("q1", traces=other)))
    assert (report.new["questions"], report.new["traces"]) == (1, 2)


def test_a_question_is_met_again_past_the_chunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotation.imports.traces.CHUNK", 2)
    rows = [question_row(f"q{n}") for n in range(5)]
    changed = question_row("q0", traces=[{"response_label": "Response A", "text": "another"}])
    (refusal,) = refusals(write_lines(tmp_path / "a.jsonl", *rows, rows[0], changed))
    assert refusal == (7, 'trace "q0/Response A" is already here with another text')
    assert bring(write_lines(tmp_path / "b.jsonl", *rows, rows[0])).new["traces"] == 5


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (
            {"traces": [{"response_label": "Response A", "generator": "model-x", "text": "no"}]},
            "another text",
        ),
        ({"traces": [{"response_label": "Response A", "generator": "y", "text": TEXT}]}, "another generator"),
        ({"statement": "Else?"}, "another statement"),
        ({"reference_answer": "3"}, "another reference answer"),
        ({"subject": "algebra"}, "another subject"),
        ({"rationale": "why"}, "another rationale"),
    ],
)
def test_the_same_id_with_other_content_is_refused(
    tmp_path: Path, changed: dict[str, Any], reason: str
) -> None:
    first = question_row("q1")
    bring(write_lines(tmp_path / "a.jsonl", first))
    again = write_lines(tmp_path / "b.jsonl", question_row("q0"), {**first, **changed})
    ((line, said),) = refusals(again)
    assert line == 2
    assert said.endswith(reason)
    within_one_file = write_lines(tmp_path / "c.jsonl", question_row("q5"), question_row("q5", **changed))
    assert [line for line, _ in refusals(within_one_file)] == [2]


def test_a_correction_that_comes_later_is_added_and_cannot_be_taken_back(tmp_path: Path) -> None:
    plain = write_lines(tmp_path / "a.jsonl", question_row("q1"))
    corrected = question_row("q1", corrected_answer={"text": "two", "reason": "r"})
    bring(plain)
    assert bring(write_lines(tmp_path / "b.jsonl", corrected)).new["reference_answers"] == 1
    assert not bring(plain).new.total()
    other = question_row("q1", corrected_answer={"text": "II", "reason": "r"})
    ((_, reason),) = refusals(write_lines(tmp_path / "c.jsonl", other))
    assert reason.endswith("another corrected answer")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"question_id": ""}, '"question_id" is blank'),
        ({"question_id": 7}, '"question_id" must be a text, not the number 7'),
        ({"question_id": "x" * 101}, '"question_id" has 101 characters; at most 100 are kept'),
        ({"statement": None}, '"statement" is null'),
        ({"reference_answer": 2}, '"reference_answer" must be a text, not the number 2'),
        ({"corrected_answer": {"text": "two"}}, '"corrected_answer.reason" is missing'),
        ({"corrected_answer": "two"}, "corrected_answer is not a JSON object"),
        ({"refrence": 1}, 'unknown field "refrence"'),
        ({"status": "odd"}, '"status" is "odd"; it must be one of included, excluded'),
        ({"status": "excluded"}, 'a question is excluded exactly when "exclusion_reason" says why'),
        ({"exclusion_reason": "x"}, 'a question is excluded exactly when "exclusion_reason" says why'),
        ({"traces": []}, '"traces" is an empty list'),
        ({"traces": {}}, '"traces" must be a list, not an object'),
        ({"traces": ["x"]}, "traces[1] is not a JSON object"),
        ({"traces": [{"response_label": "A"}]}, 'traces[1] must have either "text" or "steps"'),
        ({"traces": [{"response_label": "A", "text": " "}]}, '"traces[1].text" is blank'),
        ({"traces": [{"response_label": "A", "steps": ["a", " "]}]}, "step 2 of traces[1] is blank"),
        ({"traces": [{"response_label": "A", "steps": ["a", 1]}]}, "number 2 is the number 1"),
        ({"traces": [{"text": "x"}]}, '"traces[1].response_label" is missing'),
        ({"traces": [{"response_label": "A", "text": "x"}] * 2}, 'two traces are called "A"'),
    ],
)
def test_a_bad_question_is_refused_with_its_line(tmp_path: Path, fields: dict[str, Any], reason: str) -> None:
    path = write_lines(tmp_path / "q.jsonl", question_row("q1"), "", {**question_row("q2"), **fields})
    ((line, said),) = refusals(path)
    assert line == 3
    assert reason in said


def test_every_bad_row_of_a_file_is_listed(tmp_path: Path) -> None:
    path = write_lines(
        tmp_path / "q.jsonl", "no", question_row("q1"), question_row("q2", statement=""), '{"a": NaN}'
    )
    assert [line for line, _ in refusals(path, format="falsestep")] == [1, 3, 4]


def test_a_dry_run_says_what_would_be_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bring(write_lines(tmp_path / "a.jsonl", question_row("q1")))
    before = counts()
    path = write_lines(tmp_path / "b.jsonl", question_row("q1"), question_row("q2"))
    call_command("import_traces", str(path), study="optics", dry_run=True)
    out = capsys.readouterr().out
    assert "nothing is written" in out
    assert "new: 1 question, 1 trace" in out
    assert "already here: 1 question, 1 trace" in out
    conflicting = write_lines(tmp_path / "c.jsonl", question_row("q1", statement="?"), question_row("q3"))
    with pytest.raises(CommandError, match=r"c\.jsonl:1: .*another statement"):
        call_command("import_traces", str(conflicting), study="optics", dry_run=True)
    assert "new: 1 question, 1 trace" in capsys.readouterr().out
    call_command("import_traces", str(path), study="new", dry_run=True)
    assert 'study "new" would be made' in capsys.readouterr().out
    assert counts() == before


def test_the_report_is_written_as_json(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "m.jsonl", mistake_row(answer="2"))
    out = tmp_path / "r.json"
    call_command("import_traces", str(path), study="optics", json=str(out))
    report = json.loads(out.read_text())
    assert report["format"] == "bigbench_mistake"
    assert report["new"] == {"questions": 1, "reference_answers": 1, "traces": 1, "labels": 1}
    assert [item["line"] for item in report["review"]] == [1]
    with pytest.raises(CommandError, match="cannot be written"):
        call_command("import_traces", str(path), study="optics", json=str(tmp_path / "no" / "r.json"))


def test_a_study_name_that_cannot_be_one_is_refused(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "q.jsonl", question_row())
    for slug in ("a b", "", "é", "x" * 61):
        with pytest.raises(UserError, match="name"):
            import_traces(path=path, study_slug=slug)
    assert not Study.objects.exists()


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_mark_windows_line_ends_and_a_long_field_are_read(tmp_path: Path, end: str) -> None:
    rows = [question_row("q1", statement="é" * 300_000), question_row("q2")]
    path = tmp_path / "q.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + "".join(json.dumps(row) + end for row in rows).encode())
    assert bring(path).new["questions"] == 2
    assert len(Question.objects.get(external_id="q1").statement) == 300_000


def test_one_array_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "q.json"
    path.write_text(json.dumps([question_row("q1"), question_row("q2")], indent=1))
    assert bring(path).new["questions"] == 2


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (b"\n \n", "holds no rows"),
        ("[]".encode("utf-16"), "UTF-16"),
        (b"hello\n", "not JSON"),
        (b'{"a": 1}\n', "in none of the formats"),
        (
            b'{"question_id": "q", "response_label": "A", "final_correct": 1}\n',
            "import it with import_labels",
        ),
        (b"PAR1\x00\x00", "no Parquet file that can be read"),
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "f"
    path.write_bytes(content)
    with pytest.raises(CommandError, match=reason):
        call_command("import_traces", str(path), study="optics")
    assert not Study.objects.exists()


def test_a_missing_file_and_a_directory_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="there is no such file") as refusal:
        call_command("import_traces", str(tmp_path / "no"), study="optics")
    assert refusal.value.returncode == 1
    with pytest.raises(CommandError, match="is a directory"):
        call_command("import_traces", str(tmp_path), study="optics")


def test_a_trace_known_only_from_a_release_is_not_given_a_text(tmp_path: Path, study: Study) -> None:
    question = Question.objects.create(study=study, external_id="q1", statement="What is $1 + 1$?")
    Trace.objects.create(
        study=study, question=question, response_label="Response A", cut="text_free", n_steps=3, sha256=""
    )
    ((_, reason),) = refusals(write_lines(tmp_path / "q.jsonl", question_row("q1")))
    assert "without its text" in reason


def test_a_study_that_another_import_made_meanwhile_is_taken(study: Study) -> None:
    looked_too_early = mock.patch.object(QuerySet, "first", return_value=None)
    with looked_too_early:
        assert study_for_import(slug=study.slug, actor=None) == (study, False)


def test_a_study_is_made_by_the_name_that_people_see(tmp_path: Path) -> None:
    path = str(write_lines(tmp_path / "q.jsonl", question_row("q1")))
    call_command("import_traces", path, study="optics", name="Optics  in spring")
    call_command("import_traces", path, study="plain")
    assert dict(Study.objects.values_list("slug", "name")) == {"optics": "Optics in spring", "plain": "plain"}
    call_command("import_traces", path, study="optics", name="Optics in spring")
    with pytest.raises(CommandError, match='here already, by the name "Optics in spring"'):
        call_command("import_traces", path, study="optics", name="Another")
    for name in ("x" * 201, "a\0b"):
        with pytest.raises(CommandError, match="at most 200 characters"):
            call_command("import_traces", path, study="new", name=name)
