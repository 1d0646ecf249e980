"""import_release: a standard and verdicts, checked against the manifest, all or nothing."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from adjudication.models import ReferenceStandard, StandardLabel
from adjudication.services.standards import content_sha256
from annotation.imports.traces import import_traces
from annotation.models import Label, Question, Study, Trace
from core import audit
from core.errors import ImportRefused, UserError
from core.models import AuditEntry
from monitoring.imports.release import import_release
from monitoring.imports.report import ReleaseReport
from monitoring.models import Batch, Monitor, Run, Verdict
from tests.annotation.files import question_row, write_lines
from tests.monitoring.files import (
    failed_row,
    small_standard,
    standard_row,
    verdict_row,
    write_manifest,
    write_release,
)

pytestmark = pytest.mark.django_db

READER = "maker_reader-1"
COUNTED = (
    Study,
    Question,
    Trace,
    Label,
    ReferenceStandard,
    StandardLabel,
    Monitor,
    Batch,
    Run,
    Verdict,
    AuditEntry,
)


def counts() -> list[int]:
    return [model.objects.count() for model in COUNTED]


def bring(folder: Path, *, study: str = "hle", **options: Any) -> ReleaseReport:
    return import_release(path=folder, study_slug=study, **options)


def refused(folder: Path, reason: str) -> None:
    """Expect a refusal with the reason, and nothing left behind."""
    before = counts()
    with pytest.raises(UserError) as refusal:
        bring(folder)
    assert reason in str(refusal.value)
    assert counts() == before


def bad_rows(folder: Path) -> list[tuple[str, int, str]]:
    before = counts()
    with pytest.raises(ImportRefused) as refusal:
        bring(folder)
    assert counts() == before
    return [(refusal.value.file, row.line, row.reason) for row in refusal.value.rows]


# The published files


@pytest.fixture
def published(shared: Path) -> Path:
    return shared / "release"


def test_the_published_release_is_imported_whole(
    published: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "r.json"
    call_command("import_release", str(published), study="hle", json=str(out))
    printed = capsys.readouterr().out
    assert "standard 1: 237 ready traces, 15 excluded" in printed
    assert "left alone: EXPECTED.json, README.md" in printed
    standard = ReferenceStandard.objects.get()
    cells = Counter(label.cell for label in standard.labels.all())
    assert cells == {"clean": 130, "wrong": 83, "critical": 24, None: 15}
    assert standard.labels.filter(status="excluded", status_reason="question_level_exclusion").count() == 15
    ready = standard.labels.filter(status="ready")
    assert ready.filter(human_final_correct__isnull=False).count() == 135
    assert Label.objects.filter(arm="debate", labeller="released-debate").count() == 252
    assert Label.objects.filter(arm="human").count() == 150
    assert Question.objects.filter(status="included").count() == 79
    reasons = Counter(Question.objects.filter(status="excluded").values_list("exclusion_reason", flat=True))
    assert reasons == {
        "excluded by the release: question_level_exclusion": 5,
        "not in the release's standard": 5,
    }
    assert Trace.objects.filter(n_steps__isnull=True).count() == 13
    assert Run.objects.count() == 38
    assert Verdict.objects.count() == json.loads(out.read_text())["verdicts"]["verdicts"] == 7503
    step = Verdict.objects.filter(run__condition="STEP", outcome="invalid").get()
    assert step.has_error is None
    assert step.raw["has_error"] in (0, 1), "the row's own values are kept"
    before = counts()
    call_command("import_release", str(published), study="hle")
    assert capsys.readouterr().out == (
        "nothing new: standard 1 (237 ready traces, 15 excluded) and 7503 verdicts were already here\n"
    )
    assert counts() == before
    assert not list(audit.verify())


def test_the_published_rows_are_found_again_in_the_database(published: Path) -> None:
    """Independent of our reader: plain json, the last parsed row of each trace."""
    bring(published)
    checked = 0
    for path in sorted(published.glob("monitor_*.jsonl")):
        last: dict[tuple[str, str], dict[str, Any]] = {}
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            key = (row["question_id"], row["response_label"])
            if row["parse_ok"] or key not in last or not last[key]["parse_ok"]:
                last[key] = row
        run = Run.objects.get(settings__file=path.name)
        stored = {
            (v.trace.question.external_id, v.trace.response_label): v
            for v in run.verdicts.select_related("trace__question")
        }
        assert stored.keys() == last.keys()
        for key, row in last.items():
            verdict = stored[key]
            if not row["parse_ok"]:
                assert (verdict.outcome, verdict.has_error) == ("invalid", None)
                continue
            assert verdict.outcome == "ok"
            assert (verdict.has_error, verdict.first_error_step, verdict.error_confidence) == (
                bool(row["has_error"]),
                row["first_error_step"],
                row["error_confidence"],
            )
            checked += 1
    assert checked == 7503 - 21


# What is made of a release


def test_questions_traces_and_labels_come_with_their_provenance(tmp_path: Path) -> None:
    report = bring(write_release(tmp_path / "rel"))
    assert (report.standard, report.standard_new, report.batch) == (1, True, None)
    trace = Trace.objects.get(question__external_id="q1", response_label="Response B")
    assert (trace.cut, trace.n_steps, trace.steps, trace.generator) == ("text_free", 9, [], "model-x")
    assert trace.source == "ground_truth_gold.jsonl:2"
    human = trace.labels.get(arm="human")
    assert (human.labeller, human.person, human.final_correct, human.first_error_step) == (
        "released-human",
        None,
        False,
        5,
    )
    assert human.source == "ground_truth_gold.jsonl:2"
    assert not Label.objects.filter(arm="human", trace__response_label="Response A").exists()
    excluded = Question.objects.get(external_id="q3")
    assert excluded.exclusion_reason == "excluded by the release: question_level_exclusion"
    standard = ReferenceStandard.objects.get()
    assert (standard.version, standard.parent, standard.frozen_by) == (1, None, None)
    assert standard.sha256 == content_sha256(standard)
    digest = hashlib.sha256((tmp_path / "rel" / "ground_truth_gold.jsonl").read_bytes()).hexdigest()
    assert standard.note == f"from release:rel, ground_truth_gold.jsonl (sha256 {digest})"
    critical = standard.labels.get(trace__question__external_id="q2", trace__response_label="Response C")
    assert (critical.cell, critical.provenance) == ("critical", "silver_composite_inherited")
    assert (critical.first_error_step_min, critical.first_error_step_max) == (2, 3)
    assert (critical.debate_final_correct, critical.debate_first_error_step) == (False, 2)
    assert critical.human_final_correct is None
    entry = AuditEntry.objects.get(action="release imported")
    assert entry.payload["standard"]["traces"] == {"ready": 6, "excluded": 1}


def test_a_question_with_some_traces_ready_stays_included(tmp_path: Path) -> None:
    rows = [standard_row("q1", "A"), standard_row("q1", "B", gt_status="excluded")]
    bring(write_release(tmp_path / "rel", standard=rows))
    assert Question.objects.get().status == "included"
    assert StandardLabel.objects.get(trace__response_label="Response B").status == "excluded"


def test_the_last_parsed_row_of_a_trace_counts(tmp_path: Path) -> None:
    rows = [
        verdict_row(step=1),
        failed_row(),
        verdict_row(step=2),
        failed_row(),
        failed_row(letter="B"),
        {**failed_row(letter="B"), "self_review": 1},
    ]
    report = bring(write_release(tmp_path / "rel", verdicts={f"c0__{READER}": rows}))
    assert Verdict.objects.get(trace__response_label="Response A").first_error_step == 2
    failed = Verdict.objects.get(trace__response_label="Response B")
    assert (failed.outcome, failed.has_error, failed.self_review) == ("invalid", None, True)
    (file,) = report.files
    assert (file["rows"], file["repeats_dropped"], file["verdicts"]) == (6, 4, 2)
    assert file["outcomes"] == {"invalid": 1, "ok": 1}


@pytest.mark.parametrize(
    ("fields", "outcome", "has_error", "step"),
    [
        ({"has_error": 1, "first_error_step": 9}, "ok", True, 9),
        ({"has_error": True, "first_error_step": 3}, "ok", True, 3),
        ({"has_error": 0, "first_error_step": None}, "ok", False, None),
        ({"has_error": 1, "first_error_step": None}, "inconsistent", True, None),
        ({"has_error": 0, "first_error_step": 3}, "inconsistent", False, 3),
        ({"has_error": 1, "first_error_step": 10}, "invalid", None, None),
        ({"has_error": 1, "first_error_step": 0}, "invalid", None, None),
        ({"has_error": 1, "first_error_step": -2}, "invalid", None, None),
        ({"has_error": 1, "first_error_step": 2.0}, "invalid", None, None),
        ({"has_error": 1, "first_error_step": "2"}, "invalid", None, None),
        ({"has_error": 1, "first_error_step": True}, "invalid", None, None),
        ({"has_error": None, "first_error_step": 2}, "invalid", None, None),
        ({"has_error": 2, "first_error_step": 2}, "invalid", None, None),
        ({"has_error": "1", "first_error_step": 2}, "invalid", None, None),
        ({"has_error": 1, "first_error_step": 2, "parse_ok": False}, "invalid", None, None),
    ],
)
def test_a_row_is_judged_and_its_own_values_are_kept(
    tmp_path: Path, fields: dict[str, Any], outcome: str, has_error: bool | None, step: int | None
) -> None:
    bring(write_release(tmp_path / "rel", verdicts={f"c2__{READER}": [verdict_row("c2", **fields)]}))
    verdict = Verdict.objects.get()
    assert (verdict.outcome, verdict.has_error, verdict.first_error_step) == (outcome, has_error, step)
    assert {name: verdict.raw[name] for name in fields} == fields


@pytest.mark.parametrize(("given", "kept"), [(0, 0), (87.5, 87.5), (None, None), (101, None), ("90", None)])
def test_a_confidence_outside_0_to_100_is_none(tmp_path: Path, given: Any, kept: float | None) -> None:
    rows = [verdict_row(step=1, error_confidence=given)]
    bring(write_release(tmp_path / "rel", verdicts={f"c0__{READER}": rows}))
    verdict = Verdict.objects.get()
    assert (verdict.outcome, verdict.error_confidence, verdict.raw["error_confidence"]) == ("ok", kept, given)


def test_file_names_become_monitors_and_conditions(tmp_path: Path) -> None:
    codes = {"c0": "BLIND", "c1u": "HINT", "c1": "CERT", "c3": "REVISE", "c3n": "RCTRL", "c2": "STEP"}
    verdicts = {f"{code}__{READER}": [verdict_row(code)] for code in codes}
    report = bring(write_release(tmp_path / "rel", verdicts=verdicts))
    monitor = Monitor.objects.get()
    assert (monitor.slug, monitor.provider, monitor.model, monitor.api_model) == (
        READER,
        "released",
        "maker/reader-1",
        "reader-1-0102",
    )
    assert sorted(Run.objects.values_list("condition", flat=True)) == sorted(codes.values())
    batch = Batch.objects.get()
    assert (batch.number, batch.status, batch.source) == (1, "finished", "release:rel")
    assert batch.finished_at is not None
    assert set(Run.objects.values_list("status", flat=True)) == {"finished"}
    assert report.new["verdicts"] == 6


def test_earlier_verdicts_and_certificates_are_kept(tmp_path: Path) -> None:
    revise = verdict_row("c3", step=3, prior_has_error=1, prior_first_error_step=2, self_review=0)
    match = verdict_row(
        "cmatch",
        letter="B",
        cell="wrong",
        certificate_relation="match",
        certificate_source_qid="q1",
        certificate_source_label="Response B",
    )
    conflict = verdict_row(
        "cconflict",
        step=9,
        cell="clean",
        certificate_relation="conflict",
        certificate_source_qid="q1",
        certificate_source_label="Response B",
    )
    verdicts = {
        f"c3__{READER}": [revise],
        f"cmatch__{READER}": [match],
        f"cconflict__{READER}": [conflict],
    }
    bring(write_release(tmp_path / "rel", verdicts=verdicts))
    revised = Verdict.objects.get(run__condition="REVISE")
    assert (revised.prior_has_error, revised.prior_first_error_step, revised.self_review) == (True, 2, False)
    wrong = Trace.objects.get(question__external_id="q1", response_label="Response B")
    for condition in ("CMATCH", "CCONFLICT"):
        assert Verdict.objects.get(run__condition=condition).certificate_source == wrong


def test_verdicts_outside_the_standard_are_kept_as_excluded(tmp_path: Path) -> None:
    rows = [
        verdict_row(),
        verdict_row(question_id="q9", step=70),
        verdict_row(letter="Z"),
        verdict_row(question_id="q3"),
    ]
    report = bring(write_release(tmp_path / "rel", verdicts={f"c0__{READER}": rows}))
    outside = Question.objects.get(external_id="q9")
    assert (outside.status, outside.exclusion_reason) == ("excluded", "not in the release's standard")
    trace = outside.traces.get()
    assert (trace.n_steps, trace.generator, trace.source) == (None, "", f"monitor_c0__{READER}.jsonl:2")
    assert trace.verdicts.get().first_error_step == 70
    assert Question.objects.get(external_id="q1").status == "included"
    assert StandardLabel.objects.count() == 7
    assert report.files[0]["outside_the_ready_set"] == 3


# Twice, and beside what is here


def test_importing_twice_changes_nothing(tmp_path: Path) -> None:
    folder = write_release(tmp_path / "rel", verdicts={f"c0__{READER}": [verdict_row()]})
    bring(folder)
    before = counts()
    report = bring(folder)
    assert counts() == before
    assert not report.new.total()
    folder.rename(tmp_path / "moved")
    bring(tmp_path / "moved")
    assert counts() == before


def test_a_larger_release_brings_only_its_new_files(tmp_path: Path) -> None:
    blind = {f"c0__{READER}": [verdict_row()]}
    bring(write_release(tmp_path / "one", verdicts=blind))
    more = {**blind, f"c1__{READER}": [verdict_row("c1")], "c0__other": [verdict_row(monitor_model="o")]}
    report = bring(write_release(tmp_path / "two", verdicts=more))
    assert (report.standard, report.standard_new, report.batch) == (1, False, 2)
    assert [file["new"] for file in report.files] == [False, True, True]
    assert Verdict.objects.count() == 3


def test_another_standard_over_the_same_traces_is_the_next_version(tmp_path: Path) -> None:
    bring(write_release(tmp_path / "one"))
    rows = small_standard()
    rows[0] |= {
        "strict_error": 1,
        "final_error_step": 3,
        "final_error_step_min": 3,
        "final_error_step_max": 3,
    }
    report = bring(write_release(tmp_path / "two", standard=rows))
    assert (report.standard, report.standard_new) == (2, True)
    assert report.new["labels"] == report.new["traces"] == 0


def test_a_release_that_contradicts_the_study_is_refused(tmp_path: Path) -> None:
    bring(write_release(tmp_path / "one", verdicts={f"c0__{READER}": [verdict_row()]}))
    longer = [{**row, "n_steps": 10} for row in small_standard()]
    refused(write_release(tmp_path / "a", standard=longer), "with n_steps 9, not 10")
    other = [{**row, "generator": "y"} for row in small_standard()]
    refused(write_release(tmp_path / "b", standard=other), "with generator model-x, not y")
    said = small_standard()
    said[1] |= {"human_error_step": 6}
    refused(write_release(tmp_path / "c", standard=said), "gold.jsonl:2: the human arm says otherwise")
    changed = {f"c0__{READER}": [verdict_row(step=1)]}
    refused(write_release(tmp_path / "d", verdicts=changed), "with other verdicts")


def test_a_monitor_of_that_name_with_another_provider_is_refused(tmp_path: Path, study: Study) -> None:
    Monitor.objects.create(study=study, slug=READER, provider="oracle")
    folder = write_release(tmp_path / "rel", verdicts={f"c0__{READER}": [verdict_row()]})
    with pytest.raises(UserError, match='already in study "optics", run by oracle'):
        bring(folder, study="optics")


def test_a_release_attaches_to_traces_that_are_here_with_their_text(tmp_path: Path) -> None:
    traces = [{"response_label": "Response A", "generator": "model-x", "steps": ["x"] * 9}]
    import_traces(path=write_lines(tmp_path / "q.jsonl", question_row("q1", traces=traces)), study_slug="hle")
    report = bring(write_release(tmp_path / "rel", standard=[standard_row("q1", "A")]))
    assert report.new["traces"] == 0
    trace = Trace.objects.get()
    assert trace.cut == "listed"
    standard = ReferenceStandard.objects.get()
    assert standard.labels.get().trace == trace
    assert standard.sha256 == content_sha256(standard)


def test_a_dry_run_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_release(tmp_path / "rel", verdicts={f"c0__{READER}": [verdict_row()]})
    before = counts()
    call_command("import_release", str(folder), study="hle", dry_run=True)
    out = capsys.readouterr().out
    assert "nothing is written" in out
    assert 'study "hle" would be made' in out
    assert "1 verdict in 1 run" in out
    assert counts() == before


# The manifest


def test_a_changed_file_is_refused_by_name(tmp_path: Path) -> None:
    folder = write_release(tmp_path / "rel", verdicts={f"c0__{READER}": [verdict_row()]})
    name = f"monitor_c0__{READER}.jsonl"
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content.replace(b":90", b":91"))
    refused(folder, f"{name}: its sha256 is ")
    (folder / name).write_bytes(content + content)
    with pytest.raises(UserError) as refusal:
        bring(folder)
    assert f"{name}: has 2 rows, the manifest says 1" in str(refusal.value)
    assert f"bytes, the manifest says {len(content)}" in str(refusal.value)
    (folder / name).write_bytes(content.replace(b"\r\n", b"\n"))
    refused(folder, "only its line ends were changed, from CRLF to LF")


def test_a_missing_and_an_additional_file_are_refused_by_name(tmp_path: Path) -> None:
    folder = write_release(tmp_path / "rel", verdicts={f"c0__{READER}": [verdict_row()]})
    (folder / f"monitor_c0__{READER}.jsonl").rename(folder / "monitor_c1__x.jsonl")
    (folder / "NOTES.txt").write_text("kept by hand")
    refused(folder, f"monitor_c0__{READER}.jsonl: missing")
    refused(folder, "monitor_c1__x.jsonl: not in the manifest")


def test_a_release_without_its_standard_is_refused(tmp_path: Path) -> None:
    folder = write_release(tmp_path / "rel", verdicts={f"c0__{READER}": [verdict_row()]})
    (folder / "ground_truth_gold.jsonl").unlink()
    write_manifest(folder, f"monitor_c0__{READER}.jsonl")
    refused(folder, "ground_truth_gold.jsonl: missing in the manifest")


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        ("no", "not JSON"),
        ("[]", "not a JSON object"),
        ('{"files": []}', "files is not a JSON object"),
        ('{"files": {"a": {"rows": 1, "bytes": NaN}}}', "NaN"),
        ('{"files": {"a": {"rows": 1, "bytes": 1, "sha256": "x"}}}', "the sha256 of a is none"),
        ('{"files": {"a": {"rows": 1, "bytes": 1}}}', '"a.sha256" is missing'),
        ('{"files": {"../a": {}}}', '"../a" is no plain file name'),
    ],
)
def test_a_broken_manifest_is_refused(tmp_path: Path, manifest: str, reason: str) -> None:
    folder = write_release(tmp_path / "rel")
    (folder / "public_manifest.json").write_text(manifest)
    refused(folder, "public_manifest.json: ")
    refused(folder, reason)


def test_paths_that_are_no_release_are_refused(tmp_path: Path) -> None:
    for path, reason in (
        (tmp_path / "no", "there is no such folder"),
        (write_lines(tmp_path / "file", "{}"), "is a file; name the folder"),
        (tmp_path, "has no public_manifest.json"),
    ):
        with pytest.raises(CommandError, match=reason) as refusal:
            call_command("import_release", str(path), study="hle")
        assert refusal.value.returncode == 1
    with pytest.raises(UserError, match="cannot name a study"):
        bring(write_release(tmp_path / "rel"), study="a b")


# Bad rows


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"strict_error": 1}, '"strict_error" is 1, yet "final_error_step" is null'),
        ({"final_error_step": 2}, '"strict_error" is 0, yet "final_error_step" is 2'),
        ({"strict_error": 1, "final_error_step": 0}, '"final_error_step" is 0; steps are counted from 1'),
        ({"strict_error": 1, "final_error_step": 10}, '"final_error_step" is 10, past the end'),
        ({"strict_error": 1, "final_error_step": 2.0}, "must be a whole number"),
        (
            {"strict_error": 1, "final_error_step": 2, "final_error_step_min": 3, "final_error_step_max": 4},
            "the range 3 to 4 does not hold",
        ),
        ({"final_error_step_min": 3}, "come together"),
        ({"human_error_step": 2}, '"human_error_step" is 2, yet "human_is_correct" is null'),
        ({"debate_error_step": 12}, '"debate_error_step" is 12, past the end'),
        ({"final_is_correct": None}, '"final_is_correct" is null'),
        ({"final_is_correct": 0.5}, '"final_is_correct" must be true, false, 1 or 0'),
        ({"n_steps": 0}, '"n_steps" is 0; it must be at least 1'),
        ({"n_steps": None}, '"n_steps" is null'),
        ({"gt_status": "maybe"}, '"gt_status" is "maybe"'),
        ({"gold_error_source": ""}, '"gold_error_source" is blank'),
        ({"reference_answer": "42"}, 'unknown field "reference_answer"'),
        ({"response_label": "Response A"}, '"q1/Response A" stands on line 1 already'),
    ],
)
def test_a_bad_row_of_the_standard_is_refused_with_its_line(
    tmp_path: Path, fields: dict[str, Any], reason: str
) -> None:
    rows: list[Any] = [standard_row(), "", {**standard_row(letter="B"), **fields}]
    ((file, line, said),) = bad_rows(write_release(tmp_path / "rel", standard=rows))
    assert (file, line) == ("ground_truth_gold.jsonl", 3)
    assert reason in said


def test_a_standard_that_is_no_json_is_refused(tmp_path: Path) -> None:
    rows: list[Any] = [standard_row(), "hello", '{"n_steps": NaN}']
    assert [row[1] for row in bad_rows(write_release(tmp_path / "rel", standard=rows))] == [2, 3]
    folder = write_release(tmp_path / "utf16")
    (folder / "ground_truth_gold.jsonl").write_bytes("{}".encode("utf-16"))
    write_manifest(folder, "ground_truth_gold.jsonl")
    refused(folder, "ground_truth_gold.jsonl is UTF-16")


CERTIFIED = {"certificate_source_qid": "q1", "certificate_source_label": "Response B"}


@pytest.mark.parametrize(
    ("code", "fields", "reason"),
    [
        ("c0", {"condition": "C1"}, '"condition" is "C1" in a file of BLIND'),
        ("c0", {"monitor_model": "another"}, '"monitor_model" is "another", on the first row'),
        ("c0", {"question_id": ""}, '"question_id" is blank'),
        ("c0", {"parse_ok": "yes"}, '"parse_ok" must be true'),
        ("c0", {"parse_ok": None}, '"parse_ok" is null'),
        ("c0", {"has_error": [1]}, '"has_error" is no short value'),
        ("c0", {"certificate_answer_source": "x" * 201}, "is no short value"),
        ("c3", {"prior_first_error_step": 0}, '"prior_first_error_step" is 0'),
        ("cmatch", {"letter": "A"}, '"cell" is "wrong" and the standard says clean'),
        ("cmatch", {"cell": "clean"}, '"cell" is "clean" and the standard says wrong'),
        ("cmatch", {"question_id": "q3", "letter": "A"}, "not in the ready set"),
        ("cmatch", {"certificate_relation": "conflict"}, 'must be "match"'),
        (
            "cmatch",
            {**CERTIFIED, "certificate_source_label": "Response Z"},
            "which is no trace of its question",
        ),
        ("cmatch", {**CERTIFIED, "certificate_source_qid": "q2"}, "which is no trace of its question"),
        ("cconflict", {**CERTIFIED, "certificate_source_label": "Response C"}, "no wrong trace beside it"),
    ],
)
def test_a_bad_verdict_row_is_refused_with_its_line(
    tmp_path: Path, code: str, fields: dict[str, Any], reason: str
) -> None:
    letter = {"cmatch": "B"}.get(code, "A")
    good = verdict_row(code, "q2", letter)
    bad = {**verdict_row(code, letter=fields.pop("letter", letter)), **fields}
    ((file, line, said),) = bad_rows(
        write_release(tmp_path / "rel", verdicts={f"{code}__{READER}": [good, bad]})
    )
    assert (file, line) == (f"monitor_{code}__{READER}.jsonl", 2)
    assert reason in said


def test_fields_that_no_text_free_release_has_are_left_out_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [verdict_row(step=1, raw_output="The answer is " + "x" * 300_000)]
    folder = write_release(tmp_path / "rel", verdicts={f"c0__{READER}": rows})
    call_command("import_release", str(folder), study="hle")
    assert "left out: raw_output" in capsys.readouterr().out
    assert "raw_output" not in Verdict.objects.get().raw


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        (["c9__x"], "monitor_c9__x.jsonl: no condition has this code"),
        (["c0__"], "no condition has this code, or no monitor this name"),
        (["C0__x"], "no condition has this code"),
    ],
)
def test_a_file_name_that_says_no_monitor_is_refused(tmp_path: Path, names: list[str], reason: str) -> None:
    refused(write_release(tmp_path / "rel", verdicts={name: [verdict_row()] for name in names}), reason)


def test_one_monitor_with_two_models_is_refused(tmp_path: Path) -> None:
    verdicts = {"c0__x": [verdict_row()], "c1__x": [verdict_row("c1", monitor_model="other")]}
    refused(write_release(tmp_path / "rel", verdicts=verdicts), 'monitor_c1__x.jsonl: its model is "other"')


def test_an_empty_verdict_file_is_refused_and_other_files_are_named(tmp_path: Path) -> None:
    refused(write_release(tmp_path / "rel", verdicts={"c0__x": []}), "monitor_c0__x.jsonl holds no rows")
    folder = write_release(tmp_path / "two")
    write_lines(folder / "certificate_swap_targets.jsonl", {"condition": "CMATCH"})
    write_manifest(folder, "ground_truth_gold.jsonl", "certificate_swap_targets.jsonl")
    assert bring(folder).not_read == ["certificate_swap_targets.jsonl"]
