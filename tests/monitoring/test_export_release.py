"""export_release: text-free, whitelisted, scanned, and byte for byte the same after a round through an import."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from adjudication.models import CriticalRole, Dispute, ReferenceStandard
from adjudication.services.roles import code_role
from adjudication.services.standards import StandardChanged, freeze_standard
from annotation.models import Study, Trace
from core.errors import UserError
from core.models import AuditEntry, User
from monitoring.engine import identity
from monitoring.engine.worker import drive
from monitoring.exports.fields import NotTextFree, check_row, check_secrets
from monitoring.exports.release import Released, export_release
from monitoring.imports.release import import_release
from monitoring.models import Condition, Monitor, Run, Verdict
from monitoring.report.released import read_release
from monitoring.report.services import compute_report
from tests.adjudication.build import both, make_dispute, settle
from tests.build import make_question, make_study, make_trace
from tests.monitoring.build import make_batch, make_scripted

pytestmark = pytest.mark.django_db(transaction=True)


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def _out(standard: ReferenceStandard, folder: Path) -> Released:
    return export_release(study=standard.study, standard=standard, path=folder)


def _brought(folder: Path, slug: str) -> ReferenceStandard:
    import_release(path=folder, study_slug=slug)
    return ReferenceStandard.objects.select_related("study").get(study__slug=slug)


def _own_study(adam: User, study: Study) -> ReferenceStandard:
    """Labels of both arms, a dispute settled, one open, one excluded; offline and scripted batches."""
    question = make_question(study)
    for number, said in enumerate(((True, None), (False, 2), (True, 4))):
        trace = make_trace(question, response_label=f"Response {'ABC'[number]}")
        both(trace, said, said)  # type: ignore[arg-type]
    settled = make_dispute(study, human=(False, 2), debate=(False, 4), response_label="Response A")
    settle(settled, adam)
    ranged = make_dispute(study, response_label="Response A")
    settle(
        ranged,
        adam,
        choice="both",
        mark="",
        final_correct=True,
        first_error_step=3,
        first_error_step_min=2,
        first_error_step_max=4,
    )
    unusable = make_dispute(study, response_label="Response A")
    settle(unusable, adam, choice="unusable", mark="", exclusion="the figure is missing")
    make_dispute(study, response_label="Response A")
    make_trace(make_question(study), response_label="Response A")
    standard = freeze_standard(study=study, allow_open=True).standard
    good = json.dumps({"has_error": 1, "first_error_step": 3, "error_confidence": 70, "reason": "words"})
    monitors = [
        *(Monitor(study=study, slug=slug, provider=slug) for slug in ("always", "never", "rules")),
        make_scripted(study, replies=[good, "no idea", ""]),
    ]
    batch = make_batch(standard, monitors, conditions=[Condition.BLIND, Condition.CERT])
    drive(batch_id=batch.pk, owner=identity.owner())
    traces = {trace.response_label: trace for trace in question.traces.all()}
    for condition, seen, source in (
        (Condition.CMATCH, "Response B", "Response B"),
        (Condition.CCONFLICT, "Response A", "Response B"),
        (Condition.REVISE, "Response C", None),
    ):
        run = Run.objects.create(
            batch=batch, monitor=monitors[-1], condition=condition, status=Run.Status.FINISHED
        )
        Verdict.objects.create(
            run=run,
            trace=traces[seen],
            outcome="ok",
            has_error=True,
            first_error_step=2,
            error_confidence=62.5,
            prior_has_error=False if source is None else None,
            certificate_source=traces[source] if source else None,
        )
    return standard


def test_a_study_of_our_own_comes_back_byte_for_byte(tmp_path: Path, study: Study, adam: User) -> None:
    standard = _own_study(adam, study)
    told = _out(standard, tmp_path / "one")
    assert told.traces == {"ready": 5, "excluded": 1, "unresolved": 2}
    assert len(told.files) >= 9
    again = _brought(tmp_path / "one", "elsewhere")
    _out(again, tmp_path / "two")
    assert _contents(tmp_path / "one") == _contents(tmp_path / "two")
    frozen = freeze_standard(study=again.study)
    assert (frozen.created, frozen.standard.version) == (False, 1)
    assert not Dispute.objects.filter(study=again.study).exists()


def test_roles_of_critical_errors_travel(tmp_path: Path, study: Study, adam: User) -> None:
    standard = _own_study(adam, study)
    critical = [label for label in standard.labels.order_by("pk") if label.cell == "critical"]
    assert len(critical) >= 2
    _out(standard, tmp_path / "none")
    assert "critical_roles.jsonl" not in _contents(tmp_path / "none")
    for label, kind in zip(critical, ("substantive", "supplementary_claim"), strict=False):
        code_role(standard=standard, trace=label.trace, kind=kind, lead=adam, expected_revision=0)
    # A trace that another standard alone calls critical has no place in this one's release.
    clean = next(label for label in standard.labels.all() if label.cell == "clean")
    CriticalRole.objects.create(trace=clean.trace, kind="substantive")
    told = _out(standard, tmp_path / "one")
    assert told.files["critical_roles.jsonl"] == 2
    again = _brought(tmp_path / "one", "elsewhere")
    assert CriticalRole.objects.filter(trace__study=again.study, coded_by=None).count() == 2
    _out(again, tmp_path / "two")
    assert _contents(tmp_path / "one") == _contents(tmp_path / "two")
    assert not import_release(path=tmp_path / "one", study_slug="elsewhere").new.total()
    roles = read_release(tmp_path / "one").source.panel.reference.roles
    assert sorted(role for role in roles if role) == ["substantive", "supplementary_claim"]
    code_role(
        standard=standard, trace=critical[0].trace, kind="supplementary_claim", lead=adam, expected_revision=1
    )
    _out(standard, tmp_path / "other")
    with pytest.raises(UserError, match=r"critical_roles.jsonl:\d+: .* is coded otherwise"):
        import_release(path=tmp_path / "other", study_slug="elsewhere")


@pytest.mark.parametrize(
    ("label", "kind", "message"),
    [
        ("Response C", "grave", 'is one of .*, not "grave"'),
        ("Response A", "substantive", "is no critical trace of the standard"),
    ],
)
def test_a_role_that_cannot_be_is_refused(
    tmp_path: Path, study: Study, adam: User, label: str, kind: str, message: str
) -> None:
    standard = _own_study(adam, study)
    _out(standard, tmp_path / "out")
    question = Trace.objects.filter(response_label="Response C").get().question.external_id
    row = {"question_id": question, "response_label": label, "critical_role": kind}
    content = json.dumps(row).encode() + b"\r\n"
    (tmp_path / "out" / "critical_roles.jsonl").write_bytes(content)
    manifest = json.loads((tmp_path / "out" / "public_manifest.json").read_text())
    manifest["files"]["critical_roles.jsonl"] = {
        "rows": 1,
        "bytes": len(content),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    (tmp_path / "out" / "public_manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(UserError, match=message):
        import_release(path=tmp_path / "out", study_slug="elsewhere")


def test_a_standard_changed_behind_the_guards_is_neither_released_nor_reported(
    tmp_path: Path, study: Study, adam: User
) -> None:
    standard = _own_study(adam, study)
    compute_report(study=study, standard=standard, resamples=10)
    standard.sha256 = "0" * 64  # as if the rows were no longer what was frozen; the guards let none change
    with pytest.raises(StandardChanged, match="changed in the database"):
        _out(standard, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    with pytest.raises(StandardChanged):
        compute_report(study=study, standard=standard, resamples=10)


def test_exporting_again_writes_the_same_bytes_over_the_old_ones(
    tmp_path: Path, study: Study, adam: User
) -> None:
    standard = _own_study(adam, study)
    first = _out(standard, tmp_path / "out")
    before = _contents(tmp_path / "out")
    Run.objects.filter(monitor__slug="never").update(status=Run.Status.RUNNING)
    left = _out(standard, tmp_path / "out")
    assert {name for name in before if "never" in name} == before.keys() - _contents(tmp_path / "out").keys()
    assert "never under BLIND" in left.unfinished
    Run.objects.update(status=Run.Status.FINISHED)
    assert _out(standard, tmp_path / "out").manifest_sha256 == first.manifest_sha256
    assert _contents(tmp_path / "out") == before
    assert AuditEntry.objects.filter(action="release exported").count() == 3


def test_no_text_of_the_study_goes_out(tmp_path: Path, study: Study, adam: User) -> None:
    standard = _own_study(adam, study)
    _out(standard, tmp_path / "out")
    everything = b"".join(_contents(tmp_path / "out").values()).decode()
    for word in ("Step", "What is", "sign is lost", "figure is missing", "words", "no idea", "adam", "ana"):
        assert word not in everything
    for name, content in _contents(tmp_path / "out").items():
        if name.endswith(".jsonl"):
            assert content.count(b"\n") == content.count(b"\r\n") > 0


def test_the_published_release_goes_through_unchanged_in_what_it_says(tmp_path: Path, shared: Path) -> None:
    standard = _brought(shared / "release", "hle")
    _out(standard, tmp_path / "one")
    _out(_brought(tmp_path / "one", "elsewhere"), tmp_path / "two")
    assert _contents(tmp_path / "one") == _contents(tmp_path / "two")

    def rows(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
        found: dict[tuple[str, str], dict[str, Any]] = {}
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            key = (row["question_id"], row["response_label"])
            if key not in found or row.get("parse_ok") or not found[key]["parse_ok"]:
                found[key] = row
        return found

    written = [path for path in (tmp_path / "one").iterdir() if path.suffix == ".jsonl"]
    assert len(written) == 39
    for path in written:
        assert rows(path) == rows(shared / "release" / path.name)


def test_a_patched_standard_is_exported_by_its_version(tmp_path: Path, study: Study, adam: User) -> None:
    _own_study(adam, study)
    question = Trace.objects.filter(study=study).order_by("pk")[0].question.external_id
    call_command(
        "patch_standard",
        "--study", "optics", "--from", "1", "--set", f"{question}/Response B:final_correct=1", "--reason", "slip",
    )  # fmt: skip
    for version in (1, 2):
        call_command("export_release", str(tmp_path / str(version)), study="optics", standard=version)
    one, two = (_contents(tmp_path / str(version))["ground_truth_gold.jsonl"] for version in (1, 2))
    assert one != two
    assert b"patched" in two
    # The certificate conditions are defined on a cell: what left its cell is left out, so that it is imported.
    import_release(path=tmp_path / "2", study_slug="elsewhere")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("question_id", "What is the answer?"),
        ("question_id", ""),
        ("response_label", "The solution reads as follows"),
        ("generator", "a model with\nlines"),
        ("final_error_step", "see the text above"),
        ("final_error_step", [1, 2]),
        ("gold_error_source", "x" * 101),
        ("statement", "q1"),
        ("reason", "short"),
    ],
)
def test_what_is_no_short_identifier_is_refused(field: str, value: Any) -> None:
    row = {"question_id": "q1", "response_label": "Response A", field: value}
    with pytest.raises(NotTextFree):
        check_row("f.jsonl", row)


@pytest.mark.parametrize(
    "line",
    [
        '{"api_model":"sk-abcdefghijklmnop1234"}',
        '{"x":"AKIAABCDEFGHIJKLMNOP"}',
        '{"x":"ghp_abcdefghijklmnopqrstuvwx"}',
        '{"x":"eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.abcdef"}',
        '{"x":"ana@example.org"}',
        '{"x":"/home/ana/data"}',
    ],
)
def test_a_line_with_a_secret_is_refused(line: str) -> None:
    with pytest.raises(NotTextFree, match=r"f\.jsonl:2 holds what looks like"):
        check_secrets("f.jsonl", ['{"question_id":"q1"}', line])


def test_a_secret_of_this_process_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "plainlookingvalue")
    with pytest.raises(NotTextFree, match="SOME_API_KEY"):
        check_secrets("f.jsonl", ['{"x":"plainlookingvalue"}'])


def test_a_name_with_text_in_it_stops_the_export_before_a_file_is_written(
    tmp_path: Path, study: Study
) -> None:
    both(make_trace(make_question(study), generator="my model, at night"), (True, None), (True, None))
    standard = freeze_standard(study=study).standard
    with pytest.raises(NotTextFree, match="generator"):
        _out(standard, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path, study: Study) -> None:
    both(make_trace(make_question(study)), (True, None), (True, None))
    standard = freeze_standard(study=study).standard
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(UserError, match=r"thesis\.tex"):
        _out(standard, tmp_path)
    with pytest.raises(UserError, match="is a file"):
        _out(standard, tmp_path / "thesis.tex")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["thesis.tex"]


def test_the_command_tells_and_refuses(
    tmp_path: Path, study: Study, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(CommandError, match="no reference standard yet"):
        call_command("export_release", str(tmp_path / "out"), study="optics")
    both(make_trace(make_question(study)), (True, None), (True, None))
    freeze_standard(study=study)
    call_command("export_release", str(tmp_path / "out"), study="optics", json=str(tmp_path / "told.json"))
    assert "1 rows  ground_truth_gold.jsonl" in capsys.readouterr().out
    assert json.loads((tmp_path / "told.json").read_text())["traces"] == {"ready": 1}
    with pytest.raises(CommandError, match="has no standard 7"):
        call_command("export_release", str(tmp_path / "out"), study="optics", standard=7)


def test_another_study_is_not_touched(tmp_path: Path, study: Study) -> None:
    other = make_study()
    both(make_trace(make_question(other)), (True, None), (True, None))
    both(make_trace(make_question(study)), (True, None), (True, None))
    standard = freeze_standard(study=study).standard
    assert _out(standard, tmp_path / "out").traces == {"ready": 1}
