"""import_debate: rounds as data, and the debate arm's label from the consensus."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from adjudication.models import Dispute
from annotation.imports.debates import DebatesReport, import_debates
from annotation.models import DebateRound, Label, Study, Trace
from core.errors import ImportRefused
from core.models import AuditEntry
from tests.annotation.files import write_lines
from tests.build import make_label, make_question, make_trace

pytestmark = pytest.mark.django_db

Change = Callable[[dict[str, Any]], None]


def debate_row(question_id: str = "q1", *, step: int | None = 3, **consensus: Any) -> dict[str, Any]:
    """A debate of all five rounds that ends with an error in `step`."""
    verdict = {"is_correct": 1, "error_step": step, "confidence": 4}
    return {
        "question_id": question_id,
        "response_label": "Response A",
        "rounds": [
            {"round": "R1", "model": "m/p", "said": {**verdict, "notes": "n"}, "cost": 0.01},
            {
                "round": "R2",
                "model": "m/q",
                "given": {"R1": verdict},
                "said": {**verdict, "agree_with_prior": 1},
            },
            {"round": "R3", "model": "m/p", "said": {**verdict, "changed_mind": 0}},
            {"round": "blind", "model": "m/q", "said": verdict},
            {
                "round": "consensus",
                "model": "m/p",
                "said": {**verdict, "final_rationale": "It fails there.", **consensus},
            },
        ],
    }


@pytest.fixture
def trace(study: Study) -> Trace:
    return make_trace(make_question(study, external_id="q1"), n_steps=12, response_label="Response A")


def bring(folder: Path, *rows: dict[str, Any] | str, **options: Any) -> DebatesReport:
    path = write_lines(folder / "debates.jsonl", *rows)
    return import_debates(path=path, study_slug="optics", **options)


def test_rounds_and_the_label_of_the_consensus_are_stored(tmp_path: Path, trace: Trace) -> None:
    make_label(trace, first_error_step=None)
    report = bring(tmp_path, debate_row())
    assert report.rounds == {"R1": 1, "R2": 1, "R3": 1, "blind": 1, "consensus": 1}
    label = Label.objects.get(arm="debate")
    assert (label.labeller, label.first_error_step, label.comment) == ("debate", 3, "It fails there.")
    attack = DebateRound.objects.get(name="R2")
    assert (attack.model, attack.given["R1"]["error_step"], attack.source) == ("m/q", 3, "debates.jsonl:1")
    assert str(DebateRound.objects.get(name="R1").cost) == "0.010000"
    assert Dispute.objects.get().kinds == ["presence"]
    assert AuditEntry.objects.get(action="debates imported").payload["new_labels"] == 1


def test_importing_twice_changes_nothing(tmp_path: Path, trace: Trace) -> None:
    bring(tmp_path, debate_row())
    again = bring(tmp_path, debate_row())
    assert (again.rounds.total(), again.same_rounds, again.same_labels) == (0, 5, 1)
    assert AuditEntry.objects.filter(action="debates imported").count() == 1


@pytest.mark.parametrize("consensus", [{"needs_human": 1}, {"skipped": 1, "is_correct": None}])
def test_a_consensus_that_settles_nothing_makes_no_label(
    tmp_path: Path, trace: Trace, consensus: dict[str, Any]
) -> None:
    report = bring(tmp_path, debate_row(**consensus))
    assert (report.labels, report.unsettled) == (0, 1)
    assert not Label.objects.exists()


def test_a_doubt_about_the_key_stays_in_the_comment(tmp_path: Path, trace: Trace) -> None:
    bring(tmp_path, debate_row(reference_dispute=1, reference_dispute_reason="sign"))
    assert Label.objects.get().comment.endswith("Key looks wrong: sign")


def test_a_label_that_is_here_must_say_the_same(tmp_path: Path, trace: Trace) -> None:
    make_label(trace, arm="debate", labeller="debate", first_error_step=3)
    assert bring(tmp_path, debate_row()).same_labels == 1
    other = make_trace(make_question(trace.study, external_id="q2"), response_label="Response A")
    make_label(other, arm="debate", labeller="debate", first_error_step=5)
    with pytest.raises(ImportRefused, match="already labelled"):
        bring(tmp_path, debate_row("q2"))


def _set(round_: int, **fields: Any) -> Change:
    def change(row: dict[str, Any]) -> None:
        row["rounds"][round_].update(fields)

    return change


def _said(round_: int, **fields: Any) -> Change:
    def change(row: dict[str, Any]) -> None:
        row["rounds"][round_]["said"].update(fields)

    return change


def _drop(round_: int) -> Change:
    def change(row: dict[str, Any]) -> None:
        del row["rounds"][round_]

    return change


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_set(0, round="R9"), "must be one of R1"),
        (_set(3, round="R1"), "twice"),
        (_set(0, model=" "), "model"),
        (_set(0, cost=-1), "cost"),
        (_set(0, cost="free"), "cost"),
        (_set(0, given=[]), "not a JSON object"),
        (_set(0, note="x"), 'unknown field "rounds[0].note"'),
        (_said(0, error_step=13), "past the end"),
        (_said(0, error_step=0), "counted from 1"),
        (_said(0, is_correct=None), "is missing, and the round is not skipped"),
        (_said(0, confidence=6), "1 to 5"),
        (_said(0, critique="x"), "unknown field"),
        (_said(4, final_rationale=3), "must be a text"),
        (_drop(0), '"R2" builds on "R1"'),
        (_drop(3), '"consensus" builds on "blind"'),
        (lambda row: row.update(question_id="q9"), "no trace"),
        (lambda row: row.update(rounds=[]), "empty list"),
        (lambda row: row.update(arm="debate"), "unknown field"),
    ],
)
def test_a_bad_row_is_refused_and_nothing_is_half_imported(
    tmp_path: Path, trace: Trace, change: Change, reason: str
) -> None:
    make_trace(make_question(trace.study, external_id="q0"), response_label="Response A")
    bad = debate_row()
    change(bad)
    with pytest.raises(ImportRefused) as refused:
        bring(tmp_path, debate_row("q0"), bad)
    assert [row.line for row in refused.value.rows] == [2]
    assert any(part.replace("\\", "") in refused.value.rows[0].reason for part in reason.split("|"))
    assert not DebateRound.objects.exists()
    assert not Label.objects.exists()


def test_a_round_that_changed_and_a_trace_named_twice_are_refused(tmp_path: Path, trace: Trace) -> None:
    bring(tmp_path, debate_row())
    changed = debate_row()
    changed["rounds"][0]["said"]["notes"] = "other"
    with pytest.raises(ImportRefused, match="is here already, otherwise"):
        bring(tmp_path, changed)
    with pytest.raises(ImportRefused, match="stands on line 1 already"):
        bring(tmp_path, debate_row(), debate_row())


def test_the_command_tells_and_a_dry_run_writes_nothing(
    tmp_path: Path, trace: Trace, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(write_lines(tmp_path / "d.jsonl", debate_row()))
    call_command("import_debate", path, study="optics", dry_run=True)
    assert "dry run" in capsys.readouterr().out
    assert not DebateRound.objects.exists()
    told = tmp_path / "report.json"
    call_command("import_debate", path, study="optics", json=str(told))
    assert "labels of the debate arm: 1 new" in capsys.readouterr().out
    assert json.loads(told.read_text())["cost"] == 0.01
    call_command("import_debate", path, study="optics")
    assert "nothing new: 5 rounds here" in capsys.readouterr().out
    bad = str(write_lines(tmp_path / "bad.jsonl", debate_row("q9")))
    with pytest.raises(CommandError, match="no trace"):
        call_command("import_debate", bad, study="optics")
