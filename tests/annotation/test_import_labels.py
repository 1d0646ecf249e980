"""import_labels: labels of either arm, revisions, people and key reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.imports.labels import LabelsReport, import_labels
from annotation.models import KeyReport, Label, ReferenceAnswer, Study, Trace
from core.errors import ImportRefused, UserError
from core.models import AuditEntry, User
from tests.annotation.files import label_row, write_lines
from tests.build import make_question, make_trace

pytestmark = pytest.mark.django_db


@pytest.fixture
def trace(study: Study) -> Trace:
    question = make_question(study, external_id="q1")
    make_trace(question, n_steps=12, response_label="Response B")
    return make_trace(question, n_steps=12, response_label="Response A")


def bring(path: Path, *, arm: str = "human", **options: Any) -> LabelsReport:
    return import_labels(path=path, study_slug="optics", arm=arm, **options)


def refusals(path: Path, **options: Any) -> list[tuple[int, str]]:
    before = (Label.objects.count(), KeyReport.objects.count(), AuditEntry.objects.count())
    with pytest.raises(ImportRefused) as refusal:
        bring(path, **options)
    assert (Label.objects.count(), KeyReport.objects.count(), AuditEntry.objects.count()) == before
    return [(row.line, row.reason) for row in refusal.value.rows]


def test_it_imports_labels_and_knows_the_people(
    tmp_path: Path, trace: Trace, ana: User, eve: User, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_lines(
        tmp_path / "l.jsonl",
        label_row(
            final_correct=0,
            first_error_step=4,
            first_error_step_min=3,
            first_error_step_max=5,
            comment="sign",
        ),
        label_row(labeller="eve"),
        label_row(labeller="Prof. X", response_label="Response B"),
    )
    call_command("import_labels", str(path), study="optics", arm="human")
    out = capsys.readouterr().out
    assert "labels of the human arm: 3 new, 0 revised" in out
    assert "without an account in the study: Prof. X, eve" in out
    label = Label.objects.get(labeller="ana")
    assert label.person == ana
    assert (label.final_correct, label.first_error_step) == (False, 4)
    assert (label.first_error_step_min, label.first_error_step_max) == (3, 5)
    assert (label.comment, label.source, label.revision) == ("sign", "l.jsonl:1", 1)
    assert Label.objects.get(labeller="eve").person is None, "eve is no member of this study"
    entry = AuditEntry.objects.get(action="labels imported")
    assert entry.payload["labellers"] == {"Prof. X": 1, "ana": 1, "eve": 1}


def test_the_debate_arm_needs_no_labeller_and_has_no_person(tmp_path: Path, trace: Trace, ana: User) -> None:
    row = label_row()
    del row["labeller"]
    bring(write_lines(tmp_path / "l.jsonl", row, label_row(response_label="Response B")), arm="debate")
    assert set(Label.objects.values_list("arm", "labeller", "person")) == {
        ("debate", "debate", None),
        ("debate", "ana", None),
    }
    ((_, reason),) = refusals(write_lines(tmp_path / "m.jsonl", row))
    assert reason == '"labeller" is missing'


def test_importing_twice_changes_nothing_and_says_so(
    tmp_path: Path, trace: Trace, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_lines(tmp_path / "l.jsonl", label_row(), label_row(), label_row(labeller="bob"))
    call_command("import_labels", str(path), study="optics", arm="human")
    assert "2 new" in capsys.readouterr().out
    entries = AuditEntry.objects.count()
    call_command("import_labels", str(path), study="optics", arm="human")
    assert "nothing new: 3 labels already here" in capsys.readouterr().out
    assert (Label.objects.count(), AuditEntry.objects.count()) == (2, entries)


def test_a_changed_label_is_refused_and_revised_only_on_request(tmp_path: Path, trace: Trace) -> None:
    bring(write_lines(tmp_path / "a.jsonl", label_row()))
    changed = write_lines(tmp_path / "b.jsonl", label_row(first_error_step=2))
    ((line, reason),) = refusals(changed)
    assert line == 1
    assert "has already labelled" in reason
    report = bring(changed, revise=True)
    assert (report.new, report.revised) == (0, 1)
    first, second = Label.objects.order_by("revision")
    assert (second.revision, second.supersedes, second.first_error_step) == (2, first, 2)
    assert bring(changed).same == 1
    assert bring(write_lines(tmp_path / "c.jsonl", label_row()), revise=True).revised == 1
    assert Label.objects.get(superseded_by__isnull=True).revision == 3


def test_the_two_arms_do_not_meet(tmp_path: Path, trace: Trace) -> None:
    bring(write_lines(tmp_path / "a.jsonl", label_row()))
    assert bring(write_lines(tmp_path / "b.jsonl", label_row(first_error_step=2)), arm="debate").new == 1


def test_one_file_that_contradicts_itself_is_refused_even_with_revise(tmp_path: Path, trace: Trace) -> None:
    path = write_lines(tmp_path / "l.jsonl", label_row(), label_row(final_correct=False))
    for revise in (False, True):
        ((line, reason),) = refusals(path, revise=revise)
        assert line == 2
        assert "otherwise on line 1" in reason


def test_a_wrong_key_is_reported_by_people_and_kept_for_strangers(
    tmp_path: Path, trace: Trace, ana: User
) -> None:
    path = write_lines(
        tmp_path / "l.jsonl",
        label_row(key_wrong="a factor 2"),
        label_row(response_label="Response B", key_wrong="and the sign"),
        label_row(labeller="bob", key_wrong="units"),
    )
    report = bring(path)
    key_report = KeyReport.objects.get()
    assert (key_report.reporter, key_report.reference_version) == (ana, 1)
    assert key_report.reason == "a factor 2\nand the sign"
    assert Label.objects.get(labeller="bob").comment == "Key looks wrong: units"
    assert (report.key_reports, report.keys_in_comments) == (1, 1)
    assert (bring(path).new, KeyReport.objects.count()) == (0, 1)


def test_the_same_file_after_the_key_was_corrected_does_not_doubt_the_correction(
    tmp_path: Path, trace: Trace, ana: User
) -> None:
    path = write_lines(tmp_path / "l.jsonl", label_row(key_wrong="a factor 2"))
    assert bring(path).key_reports == 1
    ReferenceAnswer.objects.create(question=trace.question, version=2, text="84", reason="a factor 2")
    assert bring(path).key_reports == 0
    assert KeyReport.objects.get().reference_version == 1
    later = write_lines(tmp_path / "m.jsonl", label_row(key_wrong="now the sign"))
    assert bring(later).key_reports == 1


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"first_error_step": 0}, '"first_error_step" is 0; steps are counted from 1, no error is null'),
        ({"first_error_step": 13}, '"first_error_step" is 13, past the end: the trace has 12 steps'),
        ({"first_error_step": -1}, '"first_error_step" is -1; it must be at least 1'),
        ({"first_error_step": 2.0}, '"first_error_step" must be a whole number, not the number 2.0'),
        ({"first_error_step": "2"}, '"first_error_step" must be a whole number, not a text'),
        ({"first_error_step": True}, '"first_error_step" must be a whole number, not true'),
        ({"final_correct": 2}, '"final_correct" must be true, false, 1 or 0'),
        ({"final_correct": None}, '"final_correct" is null'),
        ({"first_error_step": 3, "first_error_step_min": 2}, "come together"),
        (
            {"first_error_step": 3, "first_error_step_min": 4, "first_error_step_max": 5},
            "the range 4 to 5 does not hold the first error step, which is 3",
        ),
        ({"first_error_step_min": 1, "first_error_step_max": 2}, "which is None"),
        (
            {"first_error_step": 12, "first_error_step_min": 12, "first_error_step_max": 13},
            '"first_error_step_max" is 13, past the end',
        ),
        ({"question_id": "q9"}, 'no trace "q9/Response A" in study "optics"'),
        ({"response_label": "Response Z"}, 'no trace "q1/Response Z"'),
        ({"labeller": ""}, '"labeller" is blank'),
        ({"labeller": "x" * 101}, '"labeller" has 101 characters'),
        ({"first_eror_step": 1}, 'unknown field "first_eror_step"'),
    ],
)
def test_a_bad_label_is_refused_with_its_line(
    tmp_path: Path, trace: Trace, fields: dict[str, Any], reason: str
) -> None:
    path = write_lines(tmp_path / "l.jsonl", label_row(labeller="bob"), label_row(**fields))
    ((line, said),) = refusals(path)
    assert line == 2
    assert reason in said


def test_a_step_left_out_is_not_taken_for_no_error(tmp_path: Path, trace: Trace) -> None:
    row = label_row()
    del row["first_error_step"]
    assert refusals(write_lines(tmp_path / "l.jsonl", row)) == [
        (1, '"first_error_step" is missing; no error is null')
    ]


def test_every_bad_row_of_a_file_is_listed(tmp_path: Path, trace: Trace) -> None:
    rows = ["no", label_row(), label_row("q2"), '{"a": Infinity}', label_row(first_error_step=0)]
    assert [line for line, _ in refusals(write_lines(tmp_path / "l.jsonl", *rows))] == [1, 3, 4, 5]


def test_a_dry_run_writes_nothing(tmp_path: Path, trace: Trace, capsys: pytest.CaptureFixture[str]) -> None:
    good = write_lines(tmp_path / "l.jsonl", label_row())
    out = tmp_path / "r.json"
    call_command("import_labels", str(good), study="optics", arm="human", dry_run=True, json=str(out))
    assert "nothing is written" in capsys.readouterr().out
    assert json.loads(out.read_text())["new"] == 1
    bad = write_lines(tmp_path / "m.jsonl", label_row(), label_row("q2"))
    with pytest.raises(CommandError, match=r"m\.jsonl:2: no trace"):
        call_command("import_labels", str(bad), study="optics", arm="human", dry_run=True)
    assert "labels of the human arm: 1 new" in capsys.readouterr().out
    assert not Label.objects.exists()
    assert not AuditEntry.objects.exists()


def test_an_unknown_study_and_an_unknown_arm_are_refused(tmp_path: Path, trace: Trace) -> None:
    path = write_lines(tmp_path / "l.jsonl", label_row())
    with pytest.raises(CommandError, match='no study named "no"; there are: optics'):
        call_command("import_labels", str(path), study="no", arm="human")
    with pytest.raises(CommandError, match="invalid choice"):
        call_command("import_labels", str(path), "--study=optics", "--arm=both")
    with pytest.raises(UserError, match="there are: human, debate"):
        bring(path, arm="both")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (b"\r\n", "holds no rows"),
        ('{"a": 1}'.encode("utf-16"), "UTF-16"),
        (b"hello", "not JSON"),
        (b'{"question_id": NaN}', "NaN"),
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path: Path, study: Study, content: bytes, reason: str) -> None:
    path = tmp_path / "f"
    path.write_bytes(content)
    with pytest.raises(CommandError, match=reason):
        call_command("import_labels", str(path), study="optics", arm="human")


def test_a_missing_file_and_a_directory_are_refused(tmp_path: Path, study: Study) -> None:
    with pytest.raises(CommandError, match="there is no such file"):
        call_command("import_labels", str(tmp_path / "no"), study="optics", arm="human")
    with pytest.raises(CommandError, match="is a directory"):
        call_command("import_labels", str(tmp_path), study="optics", arm="human")


def test_a_mark_windows_line_ends_and_a_long_comment_are_read(tmp_path: Path, trace: Trace) -> None:
    path = tmp_path / "l.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(label_row(comment="x" * 300_000)).encode() + b"\r\n")
    assert bring(path).new == 1
    assert len(Label.objects.get().comment) == 300_000
