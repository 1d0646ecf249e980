"""Published formats: BIG-Bench Mistake, ProcessBench, PRM800K."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from annotation.imports.traces import import_traces
from annotation.models import Label, Question, ReferenceAnswer, Trace
from core.errors import ImportRefused
from core.models import AuditEntry
from tests.annotation.files import mistake_row, write_lines

pytestmark = pytest.mark.django_db


def bring(path: Path, **options: Any) -> Any:
    return import_traces(path=path, study_slug="published", **options)


def process_row(**fields: Any) -> dict[str, Any]:
    return {
        "id": "gsm8k-0",
        "generator": "model-y",
        "problem": "1 + 1?",
        "steps": ["It is 3.", "So 3."],
        "final_answer_correct": False,
        "label": 0,
        **fields,
    }


def rated(*ratings: int | None) -> list[dict[str, Any]]:
    return [
        {
            "completions": [{"text": f"step {n}", "rating": rating, "flagged": False}],
            "chosen_completion": 0,
            "human_completion": None,
        }
        for n, rating in enumerate(ratings, start=1)
    ]


def prm_row(*, question: Any = None, label: Any = None, **fields: Any) -> dict[str, Any]:
    return {
        "labeler": "someone",
        "is_quality_control_question": False,
        "question": {
            "problem": "1 + 1?",
            "ground_truth_answer": "2",
            "pre_generated_answer": "3",
            "pre_generated_steps": ["step 1", "step 2", "step 3"],
            **(question or {}),
        },
        "label": {"steps": rated(1, -1), "finish_reason": "found_error", **(label or {})},
        **fields,
    }


def test_the_published_arithmetic_file_is_imported_whole(
    shared: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = shared / "cases" / "bigbench_mistake_multistep_arithmetic.jsonl"
    call_command("import_traces", str(path), study="bbm")
    out = capsys.readouterr().out
    assert "new: 300 questions, 300 traces, 300 labels (bigbench_mistake)" in out
    assert "300 labelled traces in the file, 238 with an error" in out
    assert out.count("wrong final answer, yet no mistake is marked") == 18
    assert out.count("right final answer, yet a mistake is marked") == 1
    labels = Label.objects.filter(trace__study__slug="bbm")
    assert labels.filter(first_error_step__isnull=False).count() == 238
    assert labels.filter(comment__startswith="For review").count() == 19
    assert set(labels.values_list("arm", "labeller", "person")) == {("human", "bigbench-mistake", None)}
    first = Trace.objects.get(source__endswith=":1")
    assert (first.cut, first.n_steps, first.generator) == ("listed", 5, "unknown")
    assert first.labels.get().first_error_step == 4
    assert first.question.reference_answers.get().text == "-2116"
    entry = AuditEntry.objects.get(action="traces imported")
    assert len(entry.payload["review"]) == 19
    call_command("import_traces", str(path), study="bbm")
    assert "nothing new: 300 traces were already here" in capsys.readouterr().out


def test_an_answer_of_null_is_a_wrong_one(shared: Path) -> None:
    report = bring(shared / "cases" / "bigbench_mistake_logical_deduction_40.jsonl")
    assert (report.new["traces"], report.with_error) == (40, 40)


def test_the_zero_based_mistake_becomes_a_step_from_one(tmp_path: Path) -> None:
    bring(write_lines(tmp_path / "m.jsonl", mistake_row(), mistake_row(input="b", mistake_index=0)))
    assert list(Label.objects.order_by("trace_id").values_list("first_error_step", flat=True)) == [2, 1]


def test_a_repeated_input_is_one_question_with_lettered_traces(tmp_path: Path) -> None:
    other = mistake_row(steps=["1 + 1 = 2.", "So 2"], answer=" 2 ", mistake_index=None)
    path = write_lines(tmp_path / "m.jsonl", mistake_row(), other, mistake_row())
    report = bring(path)
    assert (report.new["questions"], report.new["traces"], report.same["traces"]) == (1, 2, 1)
    assert list(Trace.objects.order_by("pk").values_list("response_label", flat=True)) == [
        "Response A",
        "Response B",
    ]
    right = Label.objects.get(trace__response_label="Response B")
    assert (right.final_correct, right.first_error_step, right.comment) == (True, None, "")
    assert not bring(write_lines(tmp_path / "n.jsonl", other, mistake_row())).new.total()


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"mistake_index": 3}, "plus 1 is 4, past the end: the trace has 3 steps"),
        ({"mistake_index": -1}, '"mistake_index" is -1; it must be at least 0'),
        ({"mistake_index": 1.0}, '"mistake_index" must be a whole number'),
        ({"mistake_index": True}, '"mistake_index" must be a whole number, not true'),
        ({"steps": []}, '"steps" is an empty list'),
        ({"steps": "abc"}, '"steps" must be a list, not a text'),
        ({"target": None}, '"target" is null'),
        ({"input": ""}, '"input" is blank'),
        ({"answer": 3}, '"answer" must be a text'),
    ],
)
def test_a_bad_mistake_row_is_refused_with_its_line(
    tmp_path: Path, fields: dict[str, Any], reason: str
) -> None:
    path = write_lines(tmp_path / "m.jsonl", mistake_row(input="a"), mistake_row(**fields))
    with pytest.raises(ImportRefused) as refusal:
        bring(path)
    assert [row.line for row in refusal.value.rows] == [2]
    assert reason in refusal.value.rows[0].reason
    assert not Question.objects.exists()


def test_a_label_that_a_later_file_contradicts_is_refused(tmp_path: Path) -> None:
    bring(write_lines(tmp_path / "m.jsonl", mistake_row()))
    with pytest.raises(ImportRefused, match="has already labelled"):
        bring(write_lines(tmp_path / "n.jsonl", mistake_row(mistake_index=2)))


def test_processbench_is_recognised_and_converted(tmp_path: Path) -> None:
    report = bring(
        write_lines(
            tmp_path / "p.jsonl",
            process_row(),
            process_row(id="gsm8k-1", label=-1, final_answer_correct=True),
            process_row(id="gsm8k-2", label=-1),
        )
    )
    assert report.format == "processbench"
    assert list(Label.objects.order_by("pk").values_list("final_correct", "first_error_step")) == [
        (False, 1),
        (True, None),
        (False, None),
    ]
    assert [item.question_id for item in report.review] == ["gsm8k-2"]
    assert not ReferenceAnswer.objects.exists()
    assert Trace.objects.first().generator == "model-y"  # type: ignore[union-attr]
    with pytest.raises(ImportRefused, match="past the end"):
        bring(write_lines(tmp_path / "q.jsonl", process_row(id="x", label=2)))


def test_prm800k_takes_the_first_step_rated_minus_one(tmp_path: Path) -> None:
    report = bring(
        write_lines(
            tmp_path / "p.jsonl",
            prm_row(),
            prm_row(
                question={"problem": "b", "pre_generated_answer": "2", "pre_generated_steps": None},
                label={"steps": rated(1, 0, None), "finish_reason": "solution"},
            ),
            prm_row(question={"problem": "c"}, label={"steps": rated(1), "finish_reason": "give_up"}),
            prm_row(question={"problem": "d"}, is_quality_control_question=True),
        )
    )
    assert report.format == "prm800k"
    assert list(
        Label.objects.order_by("pk").values_list("labeller", "final_correct", "first_error_step")
    ) == [("someone", False, 2), ("someone", True, None)]
    assert [trace.n_steps for trace in Trace.objects.order_by("pk")] == [3, 3, 3]
    assert report.passed_over == {"quality control question": 1}
    assert [item.line for item in report.review] == [3]


def test_prm800k_reads_the_completion_that_was_taken(tmp_path: Path) -> None:
    steps = [
        {"completions": [{"text": "a", "rating": -1}, {"text": "b", "rating": 1}], "chosen_completion": 1},
        {
            "completions": [{"text": "c", "rating": -1}],
            "chosen_completion": None,
            "human_completion": {"text": "d", "rating": None},
        },
        {"completions": [{"text": "e", "rating": -1}], "chosen_completion": None},
    ]
    bring(
        write_lines(
            tmp_path / "p.jsonl", prm_row(question={"pre_generated_steps": None}, label={"steps": steps})
        )
    )
    assert Trace.objects.get().steps == ["b", "d", "e"]
    assert Label.objects.get().first_error_step == 3


@pytest.mark.parametrize(
    "label",
    [
        {"steps": []},
        {"steps": [{"completions": []}]},
        {"steps": [{"completions": [{"text": "a", "rating": 2}]}]},
        {"steps": [{"completions": [{"text": "a", "rating": 1}], "chosen_completion": 1}]},
        {"steps": rated(1, 1, 1, -1)},
        {"finish_reason": "bored"},
    ],
)
def test_a_bad_prm800k_row_is_refused(tmp_path: Path, label: dict[str, Any]) -> None:
    with pytest.raises(ImportRefused, match=r"p\.jsonl:1: "):
        bring(write_lines(tmp_path / "p.jsonl", prm_row(label=label)))
