"""import_traces: HLE's Parquet, with the number of questions left at every stage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.management import CommandError, call_command

from annotation.imports.traces import import_traces
from annotation.models import Question, ReferenceAnswer, Trace
from core.errors import ImportRefused, UserError
from core.models import AuditEntry
from tests.annotation.files import write_lines

pytestmark = pytest.mark.django_db


def question(identity: str, **fields: Any) -> dict[str, Any]:
    return {
        "id": identity,
        "question": f"What is $x$ in {identity}?",
        "image": "",
        "image_preview": None,
        "answer": "42",
        "answer_type": "exactMatch",
        "author_name": "somebody",
        "rationale": "by symmetry",
        "rationale_image": None,
        "raw_subject": "Physics",
        "category": "Physics",
        **fields,
    }


IMAGE = {"bytes": b"\x89PNG", "path": None}
ROWS = [
    question("h01"),
    question("h02", raw_subject="Quantum PHYSICS"),
    question("h03", raw_subject="Chemistry"),
    question("h04", raw_subject="Chemistry", category="Physics"),
    question("h05", raw_subject=None, category="Physics"),
    question("h06", image="data:image/png;base64,AAAA"),
    question("h07", rationale_image=IMAGE),
    question("h08", rationale_image={"bytes": None, "path": None}),
    question("h09", answer_type="multipleChoice"),
    question("h10"),
    question("h11", raw_subject="Astrophysics"),
]


def write(path: Path, rows: list[dict[str, Any]] = ROWS) -> Path:
    image = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    names = list(rows[0])
    schema = pa.schema(
        [(n, image if n in ("image_preview", "rationale_image") else pa.string()) for n in names]
    )
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)
    return path


def stages(report: dict[str, Any]) -> list[int]:
    return [stage["questions"] for stage in report["funnel"]["stages"]]


def test_the_funnel_chooses_and_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "hle.parquet")
    review = write_lines(
        tmp_path / "review.jsonl",
        {"question_id": "h10", "reason": "one step"},
        {"question_id": "h11", "reason": "held out for the pilot", "action": "exclude"},
        {"question_id": "h03", "reason": "one step"},
    )
    call_command("import_traces", str(path), study="exam", review=str(review), json=str(tmp_path / "r.json"))
    out = capsys.readouterr().out
    report = json.loads((tmp_path / "r.json").read_text())
    assert stages(report) == [11, 9, 7, 6, 5, 4]
    assert report["funnel"]["dropped_by_review"] == {"h10": "one step"}
    assert report["funnel"]["excluded"] == {"h11": "held out for the pilot"}
    assert report["funnel"]["reasons"] == {"one step": 1, "held out for the pilot": 1}
    assert "multi-step by review" in out
    assert "  dropped h10: one step" in out
    assert set(Question.objects.values_list("external_id", "status")) == {
        ("h01", "included"),
        ("h02", "included"),
        ("h05", "included"),
        ("h08", "included"),
        ("h11", "excluded"),
    }
    assert Question.objects.get(external_id="h11").exclusion_reason == "held out for the pilot"
    assert Question.objects.get(external_id="h02").subject == "Quantum PHYSICS"
    assert Question.objects.get(external_id="h01").rationale == "by symmetry"
    assert ReferenceAnswer.objects.count() == 5
    assert not Trace.objects.exists()
    entry = AuditEntry.objects.get(action="traces imported")
    assert entry.payload["funnel"] == report["funnel"]
    assert entry.payload["sha256"] == report["sha256"] != ""


def test_without_a_review_it_says_so_and_a_second_time_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "hle.parquet")
    report = import_traces(path=path, study_slug="exam", format="hle")
    assert stages(report.as_json()) == [11, 9, 7, 6, 6, 6]
    call_command("import_traces", str(path), study="exam", dry_run=True)
    out = capsys.readouterr().out
    assert "multi-step: no review file was given" in out
    assert "nothing new: 6 questions were already here" in out
    assert "questions: new 0, skipped 6; rows: conflicting 0, malformed 0" in out


def test_another_statement_under_the_same_id_conflicts(tmp_path: Path) -> None:
    import_traces(path=write(tmp_path / "hle.parquet"), study_slug="exam")
    changed = write(tmp_path / "changed.parquet", [question("h01", question="Another?"), question("h12")])
    report = import_traces(path=changed, study_slug="exam", dry_run=True)
    assert (report.new["questions"], report.conflicting) == (1, 1)
    with pytest.raises(ImportRefused, match="already here with another statement"):
        import_traces(path=changed, study_slug="exam")
    assert not Question.objects.filter(external_id="h12").exists()


def test_a_blank_answer_is_a_bad_row_only_where_the_funnel_keeps_it(tmp_path: Path) -> None:
    rows = [question("h01", answer=" "), question("h02", answer=" ", raw_subject="Chemistry")]
    with pytest.raises(ImportRefused) as refused:
        import_traces(path=write(tmp_path / "hle.parquet", rows), study_slug="exam")
    assert [(row.line, row.reason) for row in refused.value.rows] == [(1, '"answer" is blank')]


def test_a_review_must_fit_the_file(tmp_path: Path) -> None:
    path = write(tmp_path / "hle.parquet")
    unknown = write_lines(tmp_path / "a.jsonl", {"question_id": "h99", "reason": "one step"})
    with pytest.raises(UserError, match="does not hold: h99"):
        import_traces(path=path, study_slug="exam", review=str(unknown))
    twice = tmp_path / "b.csv"
    twice.write_text("question_id,reason\nh01,one step\nh01,two\nh02,\n")
    with pytest.raises(ImportRefused) as refused:
        import_traces(path=path, study_slug="exam", review=str(twice))
    assert [row.line for row in refused.value.rows] == [3, 4]
    assert not Question.objects.exists()


def test_other_files_are_told_apart(tmp_path: Path) -> None:
    odd = tmp_path / "odd.parquet"
    pq.write_table(pa.table({"a": [1]}), odd)
    with pytest.raises(UserError, match="is not HLE: it has no column answer"):
        import_traces(path=odd, study_slug="exam")
    with pytest.raises(UserError, match="only hle is"):
        import_traces(path=odd, study_slug="exam", format="prm800k")
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 and then nothing")
    with pytest.raises(UserError, match="no Parquet file that can be read"):
        import_traces(path=broken, study_slug="exam")
    lines = write_lines(tmp_path / "l.jsonl", {"id": "h01"})
    with pytest.raises(CommandError, match="HLE comes as Parquet"):
        call_command("import_traces", str(lines), study="exam", format="hle")
    with pytest.raises(UserError, match="a review goes with HLE"):
        import_traces(path=lines, study_slug="exam", format="processbench", review=str(lines))
