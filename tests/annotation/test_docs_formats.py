"""The examples in docs/formats.md are imported as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from annotation.exports.columns import KINDS
from annotation.imports import debates, falsestep, labels
from annotation.imports.checks import import_checks
from annotation.imports.debates import import_debates
from annotation.imports.formats import READERS
from annotation.imports.labels import import_labels
from annotation.imports.traces import import_traces
from annotation.models import KeyReport, Label, Question, Study, Trace
from core.models import User

DOCS = Path(__file__).resolve().parent.parent.parent / "docs" / "formats.md"
BLOCK = re.compile(r"^```jsonl (\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLES = dict(BLOCK.findall(DOCS.read_text(encoding="utf-8")))

pytestmark = pytest.mark.django_db


def example(name: str, folder: Path) -> Path:
    path = folder / f"{name}.jsonl"
    path.write_text(EXAMPLES[name], encoding="utf-8")
    return path


def test_the_questions_and_labels_are_imported(tmp_path: Path, study: Study, ana: User) -> None:
    traces = import_traces(path=example("questions", tmp_path), study_slug="optics")
    assert (traces.new["questions"], traces.new["traces"]) == (3, 4)
    report = import_labels(path=example("labels", tmp_path), study_slug="optics", arm="human")
    assert (report.new, report.key_reports) == (3, 1)
    assert set(Label.objects.values_list("person", flat=True)) == {ana.pk}
    assert KeyReport.objects.get().reference_version == 2
    cuts = Trace.objects.order_by("pk").values_list("cut", "n_steps")
    assert list(cuts) == [("numbered", 3), ("listed", 2), ("numbered", 2), ("unsegmented", 1)]
    assert Question.objects.get(status="excluded").exclusion_reason == "needs a figure"


def test_the_debates_are_imported(tmp_path: Path, study: Study) -> None:
    import_traces(path=example("questions", tmp_path), study_slug="optics")
    report = import_debates(path=example("debates", tmp_path), study_slug="optics")
    assert (report.rounds.total(), report.labels) == (4, 1)


def test_the_annotation_tools_file_is_imported(tmp_path: Path, study: Study, ana: User) -> None:
    import_traces(path=example("questions", tmp_path), study_slug="optics")
    report = import_labels(path=example("ana_complete_1", tmp_path), study_slug="optics", arm="human")
    assert (report.format, report.new, report.skipped, report.key_reports) == ("annotation_tool", 2, 1, 1)


def test_the_check_items_are_imported(tmp_path: Path, study: Study) -> None:
    import_traces(path=example("questions", tmp_path), study_slug="optics")
    report = import_checks(path=example("checks", tmp_path), study_slug="optics")
    assert dict(report.new) == {"worked": 1, "gate": 1, "hidden": 1}


@pytest.mark.parametrize("name", sorted(READERS.keys() - {"falsestep"}))
def test_the_rows_of_published_data_sets_are_recognised(tmp_path: Path, name: str) -> None:
    report = import_traces(path=example(name, tmp_path), study_slug="optics")
    assert report.format == name
    assert report.new["traces"] == report.new["labels"] > 0
    assert not report.review


def test_every_field_of_our_formats_is_documented() -> None:
    text = DOCS.read_text(encoding="utf-8")
    for name in (
        falsestep.QUESTION_FIELDS
        | falsestep.TRACE_FIELDS
        | labels.FIELDS
        | set(KINDS)
        | set().union(*debates.SAID.values())
    ):
        assert name in text
