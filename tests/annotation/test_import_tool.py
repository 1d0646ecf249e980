"""import_labels: the JSON Lines of the published study's annotation tool."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from annotation.imports.label_rows import tool_labeller
from annotation.imports.labels import import_labels
from annotation.models import KeyReport, Label, Study
from core.errors import ImportRefused, UserError
from core.models import User
from tests.annotation.files import write_lines
from tests.build import make_question, make_trace

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def traces(study: Study) -> None:
    question = make_question(study, external_id="q1")
    for letter in "ABCD":
        make_trace(question, n_steps=9, response_label=f"Response {letter}")


def row(letter: str = "A", **fields: Any) -> dict[str, Any]:
    return {
        "question_id": "q1",
        "response_label": f"Response {letter}",
        "human_is_correct": 1,
        "human_error_step": None,
        "human_key_wrong": 0,
        "human_notes": "",
        "reviewed": True,
        **fields,
    }


@pytest.mark.parametrize(
    ("name", "labeller"),
    [
        ("ana.jsonl", "ana"),
        ("ana_complete.jsonl", "ana"),
        ("ana_complete_12.jsonl", "ana"),
        ("ana_12_complete.jsonl", "ana"),
        ("ana_b_3.jsonl", "ana_b"),
    ],
)
def test_the_files_name_tells_the_annotator(name: str, labeller: str) -> None:
    assert tool_labeller(f"/some/where/{name}") == labeller


def test_it_is_recognised_and_becomes_labels(tmp_path: Path, ana: User) -> None:
    path = write_lines(
        tmp_path / "ana_complete_3.jsonl",
        row("A", human_is_correct=0, human_error_step=4, human_notes="sign lost"),
        row("B", human_key_wrong=1, human_notes="the key misses a factor 2"),
        row("C", human_is_correct=None, reviewed=False),
        row("D", human_is_correct=None),
    )
    report = import_labels(path=path, study_slug="optics", arm="human")
    assert report.format == "annotation_tool"
    assert (report.rows, report.new, report.skipped) == (4, 2, 2)
    assert dict(report.passed_over) == {"not reviewed": 1, "not judged": 1}
    label = Label.objects.get(trace__response_label="Response A")
    assert (label.final_correct, label.first_error_step, label.comment) == (False, 4, "sign lost")
    assert (label.labeller, label.person) == ("ana", ana)
    assert "the key misses a factor 2" in KeyReport.objects.get().reason
    again = import_labels(path=path, study_slug="optics", arm="human")
    assert (again.new, again.same) == (0, 2)


def test_another_name_can_be_given(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "12.jsonl", row())
    import_labels(path=path, study_slug="optics", arm="human", labeller="Prof. X")
    assert Label.objects.get().labeller == "Prof. X"


def test_bad_rows_are_refused(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "ana.jsonl", row(human_error_step=10), row("B", human_is_correct=2))
    with pytest.raises(ImportRefused) as refused:
        import_labels(path=path, study_slug="optics", arm="human")
    assert [bad.line for bad in refused.value.rows] == [1, 2]
    with pytest.raises(UserError, match="people's"):
        import_labels(path=path, study_slug="optics", arm="debate")
