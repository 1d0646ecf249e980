"""Verdicts made elsewhere come in as a finished batch, or not at all."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Study, Trace
from monitoring.models import Batch, Call, Monitor, Run, Verdict
from tests.monitoring.build import make_small_standard

pytestmark = pytest.mark.django_db

HEAD = "question_id,response_label,monitor,condition,has_error,first_error_step,error_confidence,outcome"


@pytest.fixture
def traces(study: Study) -> list[Trace]:
    standard = make_small_standard(study, n_traces=3, n_steps=5)
    return [row.trace for row in standard.labels.select_related("trace__question").order_by("trace_id")]


def _file(tmp_path: Path, traces: list[Trace], *rows: str, head: str = HEAD) -> Path:
    lines = [
        f"{trace.question.external_id},{trace.response_label},{row}"
        for trace, row in zip(traces, rows, strict=False)
    ]
    path = tmp_path / "verdicts.csv"
    path.write_text("\ufeff" + "\r\n".join([head, *lines]) + "\r\n", encoding="utf-8")
    return path


def _import(path: Path, **options: object) -> str:
    said = StringIO()
    call_command("import_verdicts", str(path), study="optics", stdout=said, **options)
    return said.getvalue()


def test_they_become_finished_runs_with_typed_outcomes(traces: list[Trace], tmp_path: Path) -> None:
    path = _file(
        tmp_path, traces, "outside-1,BLIND,1,3,80,", "outside-1,blind,0,,5,ok", "outside-1,BLIND,,,,refusal"
    )
    _import(path)
    run = Run.objects.get()
    assert (run.condition, run.status, run.batch.source) == ("BLIND", "finished", "verdicts.csv")
    assert run.monitor.provider == Monitor.Provider.RELEASED and not Call.objects.exists()
    rows = run.verdicts.order_by("trace_id").values_list("outcome", "has_error", "first_error_step")
    assert list(rows) == [("ok", True, 3), ("ok", False, None), ("refusal", None, None)]


def test_a_flag_without_a_step_is_inconsistent(traces: list[Trace], tmp_path: Path) -> None:
    _import(_file(tmp_path, traces, "m,CERT,1,,80,", "m,CERT,0,2,80,"))
    assert list(Verdict.objects.values_list("outcome", flat=True)) == ["inconsistent"] * 2


def test_the_same_file_twice_changes_nothing(traces: list[Trace], tmp_path: Path) -> None:
    path = _file(tmp_path, traces, "m,BLIND,1,3,80,")
    _import(path)
    assert "nothing new: the file was imported as batch 1" in _import(path)
    assert Batch.objects.count() == 1


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("m,DARK,1,3,80,", "no condition"),
        ("m/x,BLIND,1,3,80,", "no name of a monitor"),
        ("m,BLIND,2,3,80,", '"has_error" is 1, 0 or empty'),
        ("m,BLIND,1,6,80,", "steps 1 to 5"),
        ("m,BLIND,1,0,80,", "steps 1 to 5"),
        ("m,BLIND,1,2.5,80,", "whole number"),
        ("m,BLIND,1,2,101,", "0 to 100"),
        ("m,BLIND,1,2,nan,", "0 to 100"),
        ("m,BLIND,1,2,80,refusal", "come to"),
        ("m,BLIND,,,80,ok", "needs has_error"),
        ("m,BLIND,,2,80,", "so does a step"),
        ("m,BLIND,1,2,80,odd", "no outcome"),
    ],
)
def test_a_bad_row_stops_all_of_it(row: str, said: str, traces: list[Trace], tmp_path: Path) -> None:
    path = _file(tmp_path, traces, "m,BLIND,1,3,80,", row)
    with pytest.raises(CommandError, match=r"verdicts\.csv:3: ") as refused:
        _import(path)
    assert said in str(refused.value)
    assert not Batch.objects.exists()
    assert "verdicts.csv:3: " in _import(path, dry_run=True) and not Batch.objects.exists()


def test_a_trace_given_twice_or_unknown_is_refused(traces: list[Trace], tmp_path: Path) -> None:
    path = _file(tmp_path, [traces[0], traces[0]], "m,BLIND,1,3,80,", "m,BLIND,0,,80,")
    with pytest.raises(CommandError, match="stand on line 2 already"):
        _import(path)
    path.write_text(f"{HEAD}\nnowhere,Response A,m,BLIND,0,,5,\n", encoding="utf-8")
    with pytest.raises(CommandError, match="no trace"):
        _import(path)


@pytest.mark.parametrize(
    "head", ["question_id,response_label", HEAD + ",surprise", HEAD + ",outcome", "", "\x00"]
)
def test_other_columns_are_refused(head: str, traces: list[Trace], tmp_path: Path) -> None:
    with pytest.raises(CommandError):
        _import(_file(tmp_path, traces, "m,BLIND,1,3,80,", head=head))


def test_a_long_cell_is_read_and_cut(traces: list[Trace], tmp_path: Path) -> None:
    _import(_file(tmp_path, traces, f"m,BLIND,1,3,80,,{'x' * 300_000}", head=f"{HEAD},reason"))
    assert Verdict.objects.get().reason == "x" * 600


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (HEAD.encode("utf-16"), "is UTF-16; save it as UTF-8"),
        (b"", "is empty"),
        (f"{HEAD}\n".encode(), "holds no rows"),
        (f"{HEAD}\nq,\xff".encode("latin-1"), ":2: not UTF-8"),
        (f"{HEAD}\nq,A,m\n".encode(), ":2: has 3 cells; the head names 8 columns"),
        (f"{HEAD},monitor\nq,A\n".encode(), 'two columns are called "monitor"'),
    ],
)
def test_what_is_no_table_is_refused_by_name(
    content: bytes, words: str, traces: list[Trace], tmp_path: Path
) -> None:
    path = tmp_path / "verdicts.csv"
    path.write_bytes(content)
    with pytest.raises(CommandError) as refused:
        _import(path)
    assert str(refused.value).startswith(str(path))
    assert words in str(refused.value)


def test_a_path_that_is_no_file_is_refused(traces: list[Trace], tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="there is no such file"):
        _import(tmp_path / "none.csv")
    with pytest.raises(CommandError, match="is a directory"):
        _import(tmp_path)


def test_it_is_told_as_json(traces: list[Trace], tmp_path: Path) -> None:
    content = json.loads(_import(_file(tmp_path, traces, "m,BLIND,1,3,80,"), json="-"))
    assert (content["rows"], content["runs"], content["batch"]) == (1, {"m BLIND": 1}, 1)
