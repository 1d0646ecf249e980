"""export_labels: every revision with every field, out and in again unchanged, in constant memory."""

from __future__ import annotations

import csv
import io
import json
import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from annotation.cells import as_written, harmless
from annotation.exports.columns import LABEL_COLUMNS, Kind
from annotation.exports.streams import FORMATS
from annotation.imports.labels import import_labels
from annotation.models import KeyReport, Label, Membership, Question, ReferenceAnswer, Role, Study, Trace
from annotation.services.exporting import export_labels
from annotation.services.guideline import ensure_guideline
from core.errors import ImportRefused, UserError
from core.models import AuditEntry, User
from tests.build import make_label, make_study, make_trace

NASTY = [
    "=HYPERLINK(1)",
    "+1",
    "-1",
    "@SUM(A1)",
    "\ttab",
    "\rreturn",
    "\n=on the next line",
    "'=quoted",
    "''-twice",
    "'tis",
    "＝wide",
    'a "quote", a comma;\r\nand lines\n',
    "$\\frac{1}{2}$ \\n ünïcödé \U0001d6fc",
    " blanks ",
    "",
]
STEPS = [f"({k}) Step {k}.\n" for k in range(1, 10)]


def fill(study: Study) -> list[Trace]:
    """Make the questions and traces of the tests, the same in every study."""
    traces = []
    for name in ("q1", "=q2"):
        question = Question.objects.create(study=study, external_id=name, statement="?")
        ReferenceAnswer.objects.create(question=question, version=1, text="1")
        ReferenceAnswer.objects.create(question=question, version=2, text="2", reason="a slip")
        for label in "ABCDEFGHIJKLMNOP"[: len(NASTY)]:
            traces.append(make_trace(question, steps=STEPS, response_label=f"Response {label}"))
    return traces


@pytest.fixture
def full(study: Study, ana: User) -> Study:
    """A study with labels of both arms, with everything that a label can have."""
    guideline = ensure_guideline(study=study)
    begun = datetime(2026, 3, 1, 8, 30, 0, 123456, tzinfo=UTC)
    for number, (trace, comment) in enumerate(zip(fill(study), NASTY, strict=False)):
        first = make_label(
            trace,
            person=ana,
            final_correct=False,
            first_error_step=3,
            first_error_step_min=2,
            first_error_step_max=4,
            comment=comment,
            guideline=guideline,
            active_seconds=60 + number,
            source="desk",
            created_at=begun + timedelta(hours=number),
        )
        if number % 3 == 0:
            make_label(
                trace,
                person=ana,
                comment=f"{comment} again",
                revision=2,
                supersedes=first,
                source="desk",
                created_at=begun + timedelta(days=1),
            )
        make_label(trace, arm="debate", labeller="debate", first_error_step=9)
    question = Question.objects.get(external_id="q1")
    KeyReport.objects.create(question=question, reporter=ana, reference_version=1, reason="-5 is the root")
    return study


@pytest.fixture
def fresh(full: Study, ana: User) -> Study:
    """A second study with the same traces and people, and no label."""
    other = make_study(slug="fresh")
    fill(other)
    Membership.objects.create(study=other, person=ana, role=Role.ANNOTATOR)
    return other


def export(study: Study, path: Path, **options: Any) -> bytes:
    export_labels(study=study, path=path, format=path.suffix[1:], **{"arm": "all", **options})
    return path.read_bytes()


@pytest.mark.django_db
@pytest.mark.parametrize("suffix", sorted(FORMATS))
def test_what_goes_out_comes_back_the_same(full: Study, fresh: Study, tmp_path: Path, suffix: str) -> None:
    first = tmp_path / f"first.{suffix}"
    content = export(full, first)
    report = import_labels(path=first, study_slug="fresh", arm="all")
    assert report.new + report.revised == Label.objects.filter(trace__study=full).count() == 35
    assert (report.key_reports, report.keys_in_comments, report.guidelines_unknown) == (1, 0, 0)
    assert KeyReport.objects.get(question__study=fresh).reference_version == 1
    assert export(fresh, tmp_path / f"second.{suffix}") == content
    again = import_labels(path=first, study_slug="fresh", arm="all")
    assert (again.new, again.revised, again.skipped) == (0, 0, 35)


@pytest.mark.django_db
def test_every_format_says_the_same(full: Study, tmp_path: Path) -> None:
    table = list(csv.DictReader(io.StringIO(export(full, tmp_path / "l.csv").decode(), newline="")))
    lines = [json.loads(line) for line in export(full, tmp_path / "l.jsonl").decode().split("\n") if line]
    export(full, tmp_path / "l.parquet")
    rows = pq.read_table(tmp_path / "l.parquet").to_pylist()
    names = [column.name for column in LABEL_COLUMNS]
    assert len(table) == len(lines) == len(rows) == 35
    assert list(table[0]) == list(lines[0]) == list(rows[0]) == names
    for cells, line, row in zip(table, lines, rows, strict=True):
        for column in LABEL_COLUMNS:
            value = line[column.name]
            if column.kind is Kind.INSTANT:
                assert datetime.fromisoformat(value) == row[column.name]
            else:
                assert row[column.name] == value
            text = "" if value is None else str(value).lower() if value in (True, False) else str(value)
            if isinstance(value, int) and not isinstance(value, bool):
                text = str(value)
            assert as_written(cells[column.name]) == text


@pytest.mark.django_db
def test_a_row_has_every_field(full: Study, tmp_path: Path) -> None:
    lines = [json.loads(line) for line in export(full, tmp_path / "l.jsonl").decode().split("\n") if line]
    mine = [line for line in lines if line["arm"] == "human"]
    assert [(line["revision"], line["current"]) for line in mine[:2]] == [(1, False), (2, True)]
    label = Label.objects.get(trace__response_label="Response B", arm="human")
    assert mine[2] == {
        "question_id": "q1",
        "response_label": "Response B",
        "trace_sha256": label.trace.sha256,
        "arm": "human",
        "labeller": "ana",
        "revision": 1,
        "current": True,
        "final_correct": False,
        "first_error_step": 3,
        "first_error_step_min": 2,
        "first_error_step_max": 4,
        "comment": "+1",
        "coherence": None,
        "error_type": None,
        "key_wrong": "-5 is the root",
        "key_wrong_version": 1,
        "guideline_version": 1,
        "guideline_sha256": mine[0]["guideline_sha256"],
        "active_seconds": 61,
        "source": "desk",
        "created_at": "2026-03-01T09:30:00.123456Z",
    }
    assert len(mine[0]["guideline_sha256"]) == 64


@pytest.mark.django_db
def test_one_arm_alone(full: Study, tmp_path: Path) -> None:
    rows = csv.DictReader(io.StringIO(export(full, tmp_path / "l.csv", arm="debate").decode(), newline=""))
    assert {row["arm"] for row in rows} == {"debate"}


@pytest.mark.django_db
def test_no_cell_begins_a_formula(full: Study, tmp_path: Path) -> None:
    content = export(full, tmp_path / "l.csv").decode()
    for row in csv.reader(io.StringIO(content, newline="")):
        for cell in row:
            assert not cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "＝")), cell


@given(st.text(alphabet=st.sampled_from("'=+-@\t\r\n＝a \"")) | st.text())
def test_harmless_cells_are_undone(text: str) -> None:
    cell = harmless(text)
    assert as_written(cell) == text
    assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert cell == text or cell == f"'{text}"


@pytest.mark.django_db
def test_cells_of_300_kilobytes(study: Study, tmp_path: Path) -> None:
    (trace, *_) = fill(study)
    long = "=" + 'x,"\n' * 75_000
    make_label(trace, comment=long)
    for suffix in FORMATS:
        path = tmp_path / f"l.{suffix}"
        export(study, path)
        assert import_labels(path=path, study_slug="optics", arm="human").same == 1


@pytest.mark.parametrize("suffix", sorted(FORMATS))
def test_memory_does_not_grow_with_the_number_of_rows(suffix: str) -> None:
    def rows(number: int) -> Iterator[tuple[Any, ...]]:
        for k in range(number):
            text = f"comment {k} " + "x" * 500
            yield (
                "q", "A", "0" * 64, "human", "ana", 1, True, True, None, None, None,
                text, None, None, None, None, 1, None, 5, "desk", timezone.now(),
            )  # fmt: skip

    def peak(number: int) -> int:
        tracemalloc.start()
        size = sum(len(piece) for piece in FORMATS[suffix].stream(rows(number), LABEL_COLUMNS))
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert size > 0
        return most

    peak(10)
    small, large = peak(10_000), peak(20_000)
    assert large < small * 1.3 + 1_000_000


@pytest.mark.django_db
def test_the_command_tells_the_audit_trail(full: Study, tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "l.csv"
    path.write_text("old", encoding="utf-8")
    call_command("export_labels", study="optics", format="csv", out=str(path), json=str(tmp_path / "r.json"))
    assert "35 rows in" in capsys.readouterr().out
    entry = AuditEntry.objects.get(action="labels exported")
    report = json.loads((tmp_path / "r.json").read_text())
    assert entry.payload == {
        "format": "csv",
        "arm": "all",
        "rows": 35,
        "checks": False,
        "sha256": report["sha256"],
        "by": "command line",
    }
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith(".")] == []


@pytest.mark.django_db
def test_what_cannot_be_written_is_said(study: Study, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="no study named"):
        call_command("export_labels", study="no", format="csv", out=str(tmp_path / "l.csv"))
    with pytest.raises(UserError, match="cannot be written"):
        export(study, tmp_path / "no" / "l.csv")
    with pytest.raises(UserError, match="no format is called"):
        export_labels(study=study, path=tmp_path / "l.odd", format="odd", arm="all")
    with pytest.raises(UserError, match="no arm is called"):
        export(study, tmp_path / "l.csv", arm="left")
    assert not AuditEntry.objects.filter(action="labels exported").exists()


@pytest.mark.django_db
def test_a_study_without_labels_gives_a_file_that_is_read(study: Study, tmp_path: Path) -> None:
    for suffix in FORMATS:
        export(study, tmp_path / f"l.{suffix}")
    assert (tmp_path / "l.csv").read_text().startswith("question_id,response_label,")
    with pytest.raises(UserError, match="holds no rows"):
        import_labels(path=tmp_path / "l.parquet", study_slug="optics", arm="all")


@pytest.mark.django_db
def test_revisions_follow_each_other(study: Study, tmp_path: Path) -> None:
    fill(study)

    def bring(*rows: dict[str, Any], **options: Any) -> Any:
        path = tmp_path / "l.jsonl"
        base = {"question_id": "q1", "response_label": "Response A", "labeller": "bo", "final_correct": True}
        path.write_text("".join(json.dumps({**base, **row}) + "\n" for row in rows), encoding="utf-8")
        return import_labels(path=path, study_slug="optics", arm="human", **options)

    def refusal(*rows: dict[str, Any], **options: Any) -> tuple[str, bool]:
        with pytest.raises(ImportRefused) as refused:
            bring(*rows, **options)
        (row,) = refused.value.rows
        return row.reason, row.conflict

    two, one = {"revision": 2, "first_error_step": 2}, {"revision": 1, "first_error_step": None}
    reason, conflict = refusal(two)
    assert "comes without revision 1" in reason
    assert not conflict
    report = bring(one, two)
    assert (report.new, report.revised) == (1, 1)
    assert bring(two, one).same == 2
    reason, conflict = refusal({**one, "first_error_step": 4})
    assert "is here already and says otherwise" in reason
    assert conflict
    three = {"revision": 3, "first_error_step": 5}
    reason, _ = refusal(one, two, three)
    assert "--revise makes this a new revision" in reason
    assert bring(one, two, three, revise=True).revised == 1
    assert refusal({**one, "arm": "debate"})[0].startswith("the label is of the debate arm")
    assert refusal({**one, "trace_sha256": "f" * 64})[1]
    assert "time" in refusal({**one, "created_at": "yesterday"})[0]
    assert "future" in refusal({**one, "created_at": "2999-01-01T00:00:00Z"})[0]


@pytest.mark.django_db
def test_a_dry_run_counts_new_skipped_and_conflicting(
    full: Study, fresh: Study, tmp_path: Path, capsys: Any
) -> None:
    export(full, tmp_path / "l.csv")
    call_command("import_labels", str(tmp_path / "l.csv"), study="fresh", arm="all", dry_run=True)
    assert "new 35, skipped 0, conflicting 0, malformed 0" in capsys.readouterr().out
    assert not Label.objects.filter(trace__study=fresh).exists()
    export(full, tmp_path / "l.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "l.jsonl").read_text().split("\n") if line]
    lines[0]["comment"] = "another"
    lines[1]["first_error_step"] = 99
    (tmp_path / "m.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(CommandError):
        call_command("import_labels", str(tmp_path / "m.jsonl"), study="optics", arm="all", dry_run=True)
    assert "new 0, skipped 33, conflicting 1, malformed 1" in capsys.readouterr().out


@pytest.mark.django_db
def test_a_spreadsheets_csv_is_read_too(study: Study, tmp_path: Path) -> None:
    fill(study)
    path = tmp_path / "l.csv"
    path.write_bytes(
        "\ufeffquestion_id;response_label;labeller;final_correct;first_error_step\r\n"
        "q1;Response A;bo;TRUE;\r\n"
        "\r\n"
        "q1;Response B;bo;0;3\r\n".encode()
    )
    assert import_labels(path=path, study_slug="optics", arm="human").new == 2
    assert Label.objects.get(first_error_step=3).source == "l.csv:4"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("body", "line", "reason"),
    [
        ("q1,Response A,bo,maybe,\n", 2, '"final_correct" must be true, false, 1 or 0, not a text'),
        ("q1,Response A,bo,1,3.0\n", 2, '"first_error_step" must be a whole number, not a text'),
        ("q1,Response A,bo,1,0\n", 2, '"first_error_step" is 0; steps are counted from 1, no error is null'),
        ("q1,Response A,bo,1,99\n", 2, '"first_error_step" is 99, past the end: the trace has 9 steps'),
        ("q1,Response A,bo,1\n", 2, "has 4 cells; the head names 5 columns"),
        ('q1,"Response\nA",bo,1,\nq1,Response A,bo\n', 4, "has 3 cells; the head names 5 columns"),
        ('q1,Response A,bo,1,"2\n', 2, "not CSV: unexpected end of data"),
    ],
)
def test_bad_cells_are_named_with_their_line(
    study: Study, tmp_path: Path, body: str, line: int, reason: str
) -> None:
    fill(study)
    path = tmp_path / "l.csv"
    path.write_text("question_id,response_label,labeller,final_correct,first_error_step\n" + body)
    with pytest.raises(ImportRefused) as refused:
        import_labels(path=path, study_slug="optics", arm="human")
    assert (line, reason) in [(row.line, row.reason) for row in refused.value.rows]


@pytest.mark.django_db
def test_labels_under_an_unknown_guideline_are_told(full: Study, fresh: Study, tmp_path: Path) -> None:
    fresh.guideline_versions.create(version=1, text="another")
    path = tmp_path / "l.jsonl"
    export(full, path)
    report = import_labels(path=path, study_slug="fresh", arm="all")
    assert report.guidelines_unknown == 15
    assert not Label.objects.filter(trace__study=fresh, guideline__isnull=False).exists()
