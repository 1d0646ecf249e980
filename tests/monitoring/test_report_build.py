"""The report of a study: which verdicts it reads, what it counts, what it says where numbers are missing."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from adjudication.models import CriticalRole, StandardLabel
from annotation.models import Study, Trace
from monitoring.models import Run, Verdict
from monitoring.report import source
from monitoring.report.build import COMPUTING, build
from monitoring.report.involvement import family_of
from monitoring.report.queries import document_of
from monitoring.report.services import compute_report
from monitoring.report.source import chosen_runs, fingerprint, load
from stats.report import Options, build_report
from tests.build import make_question, make_trace
from tests.monitoring.report_build import (
    load_release,
    make_batch,
    make_monitor,
    make_run,
    make_standard,
    small_study,
    store_standard,
)
from tests.stats.release import load_panel
from tests.stats.test_release import close_to, differences

pytestmark = pytest.mark.django_db
FEW = Options(resamples=20)  # as the commands below compute it


def report_of(study: Study, standard: Any, options: Options = FEW) -> dict[str, Any]:
    return build(load(study, standard), study, standard, options)


def flag_errors(traces: list[Trace], *, step: int = 2) -> dict[Trace, tuple[Any, ...]]:
    """Flag the last four traces, which have an error, at a step; pass the others."""
    return {
        trace: ("ok", True, step, 90.0) if n >= 4 else ("ok", False, None, 10.0)
        for n, trace in enumerate(traces)
    }


def test_it_gives_every_expected_figure_of_the_release_from_the_database(shared: Path) -> None:
    study, standard = load_release(shared / "release")
    computed = report_of(study, standard, Options())
    expected = json.loads((shared / "release" / "EXPECTED.json").read_text(encoding="utf-8"))
    assert differences(computed, expected) == []
    from_files = build_report(load_panel(shared / "release"))
    for section in (
        "detection",
        "localisation",
        "arms",
        "ladder_recall",
        "contrasts",
        "certificate",
        "revision",
    ):
        assert close_to(computed[section], from_files[section]), section


def test_it_names_the_standard_the_verdicts_and_the_code() -> None:
    study, standard, traces = small_study()
    make_run(make_monitor(study, "m"), "BLIND", standard, flag_errors(traces))
    computed = report_of(study, standard)
    assert computed["reference"] | {"provenance": None} == {
        "study": "small",
        "version": 1,
        "sha256": standard.sha256,
        "traces": 8,
        "questions": 4,
        "clean": 4,
        "wrong": 3,
        "critical": 1,
        "final_correct": 5,
        "clean_with_wrong_answer": 0,
        "not_ready": {},
        "provenance": None,
    }
    assert computed["reference"]["provenance"] == {"adjudicated": {"clean": 4, "critical": 1, "wrong": 3}}
    assert len(computed["verdicts"]["sha256"]) == len(computed["code"]["sha256"]) == 64
    assert (
        computed["verdicts"]["runs"][0] | {"batch": 1, "status": "finished"}
        == computed["verdicts"]["runs"][0]
    )


def test_what_the_computing_files_import_is_part_of_the_code_version() -> None:
    """Models hold data alone; the statistics are hashed whole."""
    root = Path(__file__).resolve().parents[2]
    used = re.compile(r"^from ((?:llm|monitoring|verification)[.\w]*) import ([^(\n]+|\([^)]+\))", re.M)
    for name in COMPUTING:
        for module, names in used.findall((root / name).read_text(encoding="utf-8")):
            folder = module.replace(".", "/")
            found = {f"{folder}/{word}.py" for word in re.findall(r"\w+", names)} | {f"{folder}.py"}
            files = {file for file in found if (root / file).exists()}
            assert files <= set(COMPUTING), (name, files)
            assert files or module.endswith("models"), (name, module)


def test_it_scores_a_monitor_that_is_right_but_for_one_step() -> None:
    study, standard, traces = small_study()
    make_run(make_monitor(study, "m"), "BLIND", standard, flag_errors(traces))
    computed = report_of(study, standard)
    assert computed["detection"]["BLIND"]["monitors"]["m"]["balanced_accuracy"] == 1.0
    row = computed["localisation"]["BLIND"]["monitors"]["m"]
    assert (row["L0"], row["exact"], row["early"]) == (0.75, 3, 1)


def test_it_counts_failed_verdicts_as_misses_and_tells_their_outcomes() -> None:
    study, standard, traces = small_study()
    said = flag_errors(traces)
    said[traces[0]] = ("refusal", None, None)
    said[traces[4]] = ("provider_error", None, None)
    make_run(make_monitor(study, "m"), "BLIND", standard, said)
    computed = report_of(study, standard)
    row = computed["detection"]["BLIND"]["monitors"]["m"]
    assert (row["n"], row["failures"], row["parse_rate"], row["sensitivity"]) == (6, 2, 0.75, 1.0)
    assert row["bounds"]["failures_as_passes"]["sensitivity"] == 0.75
    assert row["bounds"]["failures_as_flags"]["specificity"] == 0.75
    assert computed["localisation"]["BLIND"]["monitors"]["m"]["missed"] == 1
    assert computed["outcomes"]["BLIND"]["m"] == {"ok": 6, "provider_error": 1, "refusal": 1}


def test_an_inconsistent_verdict_counts_for_detection_and_misses_the_step() -> None:
    study, standard, traces = small_study()
    said = flag_errors(traces)
    said[traces[0]] = ("inconsistent", False, 3)
    said[traces[4]] = ("inconsistent", True, None)
    make_run(make_monitor(study, "m"), "BLIND", standard, said)
    computed = report_of(study, standard)
    row = computed["detection"]["BLIND"]["monitors"]["m"]
    assert (row["n"], row["sensitivity"], row["specificity"]) == (8, 1.0, 1.0)
    located = computed["localisation"]["BLIND"]["monitors"]["m"]
    assert (located["exact"], located["missed"], located["no_step"]) == (2, 1, 1)


def test_it_reads_the_latest_finished_run_and_no_other() -> None:
    study, standard, traces = small_study()
    monitor = make_monitor(study, "m")
    never: dict[Trace, tuple[Any, ...]] = dict.fromkeys(traces, ("ok", False, None))
    make_run(monitor, "BLIND", standard, never)
    later = make_run(monitor, "BLIND", standard, flag_errors(traces))
    make_run(monitor, "BLIND", standard, {traces[0]: ("ok", False, None)}, status="running")
    make_run(monitor, "BLIND", standard, {}, status="finished")
    assert [run.pk for run in chosen_runs(study)] == [later.pk]
    assert report_of(study, standard)["detection"]["BLIND"]["monitors"]["m"]["sensitivity"] == 1.0


def test_it_says_when_a_run_is_read_that_is_not_finished() -> None:
    study, standard, traces = small_study()
    make_run(make_monitor(study, "m"), "BLIND", standard, {traces[0]: ("ok", False, None)}, status="running")
    computed = report_of(study, standard)
    assert [w["kind"] for w in computed["warnings"]] == ["partial_run", "few_clusters"]
    row = computed["detection"]["BLIND"]["monitors"]["m"]
    assert row["sensitivity"] is None
    assert row["sensitivity_reason"] == "no valid verdict on a trace with an error"
    assert row["specificity"] == 1.0


def test_it_says_when_a_cell_lies_in_few_questions() -> None:
    study, _, traces = small_study()
    traces += [make_trace(make_question(study)) for _ in range(8)]
    standard = make_standard(
        study, {trace: (n % 9 > 0, 1 if n > 9 else None) for n, trace in enumerate(traces)}
    )
    found = {w["cell"]: w["questions"] for w in report_of(study, standard)["warnings"]}
    assert found == {"clean": 6, "critical": 6}


def test_a_later_standard_scores_the_verdicts_that_are_there() -> None:
    study, standard, traces = small_study()
    make_run(make_monitor(study, "m"), "BLIND", standard, flag_errors(traces))
    labels = dict.fromkeys(traces[:7], (True, None)) | {traces[7]: (True, 2)}
    second = make_standard(study, labels, parent=standard, note="looked again")
    row = report_of(study, second)["detection"]["BLIND"]["monitors"]["m"]
    assert (row["sensitivity"], row["specificity"]) == (1.0, 4 / 7)


def test_it_leaves_traces_out_that_are_not_ready() -> None:
    study, standard, traces = small_study()
    second = make_standard(study, dict.fromkeys(traces[:2], (True, None)))
    StandardLabel.objects.create(
        standard=second, trace=traces[2], status="excluded", status_reason="a picture", provenance="x"
    )
    make_run(make_monitor(study, "m"), "BLIND", standard, flag_errors(traces))
    computed = report_of(study, second)
    assert computed["reference"]["not_ready"] == {"excluded": 1}
    assert computed["detection"]["BLIND"]["monitors"]["m"]["n"] == 2
    assert computed["verdicts"]["runs"][0]["outside_the_standard"] == 6
    assert computed["outcomes"]["BLIND"]["m"] == {"ok": 2}


def test_a_study_without_verdicts_has_a_report_of_its_standard_alone() -> None:
    study, standard, _ = small_study()
    computed = report_of(study, standard)
    assert not {"detection", "localisation", "outcomes", "contrasts"} & {k for k, v in computed.items() if v}
    assert computed["oracle"]["balanced_accuracy"] == 0.875
    assert computed["oracle"]["critical_recall"] == 0.0


def test_the_oracle_of_the_report_is_the_monitor_that_flags_wrong_answers() -> None:
    study, _, traces = small_study()
    labels = {trace: (n % 2 == 0, 2 if n > 4 else None) for n, trace in enumerate(traces)}
    standard = make_standard(study, labels)
    said = {t: ("ok", not right, None if right else 1) for t, (right, _) in labels.items()}
    make_run(make_monitor(study, "oracle"), "BLIND", standard, said)
    computed = report_of(study, standard)
    monitor = computed["detection"]["BLIND"]["monitors"]["oracle"]
    for name in ("sensitivity", "specificity", "balanced_accuracy"):
        assert computed["oracle"][name] == monitor[name]
    assert computed["reference"]["clean_with_wrong_answer"] == 2


def test_coded_roles_give_recall_by_role() -> None:
    study, standard, traces = small_study()
    CriticalRole.objects.create(trace=traces[7], kind="substantive")
    make_run(make_monitor(study, "m"), "BLIND", standard, flag_errors(traces))
    roles = report_of(study, standard)["critical_roles"]
    assert roles["substantive"]["n"] == 1
    assert roles["substantive"]["BLIND"] == 1.0
    assert roles["not_coded"] == 0


def test_the_fingerprint_moves_with_verdicts_runs_and_roles() -> None:
    study, standard, traces = small_study()
    monitor = make_monitor(study, "m")

    def now() -> str:
        return fingerprint(study, chosen_runs(study))

    seen = [now()]
    run = make_run(monitor, "BLIND", standard, {traces[0]: ("ok", False, None)}, status="running")
    seen.append(now())
    assert load(study, standard).fingerprint == seen[-1]
    Verdict.objects.create(run=run, trace=traces[1], outcome="ok", has_error=False)
    seen.append(now())
    Run.objects.filter(pk=run.pk).update(status=Run.Status.FINISHED)
    seen.append(now())
    make_run(monitor, "BLIND", standard, flag_errors(traces), batch=make_batch(standard))
    seen.append(now())
    CriticalRole.objects.create(trace=traces[7], kind="substantive")
    seen.append(now())
    assert len(set(seen)) == 6


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("google/gemini-3.1-pro-preview", "gemini"),
        ("google_gemini-3.1-pro-preview", "gemini"),
        ("Gemini-3.1-Pro", "gemini"),
        ("claude-fable-5", "claude"),
        ("Fable 5", "claude"),
        ("opus-4.7", "claude"),
        ("gpt-5.5", "gpt"),
        ("openai/o3-mini", "gpt"),
        ("olmo-2", "olmo"),
        ("meta-llama/llama-3.3-70b-instruct", "llama"),
        ("", ""),
        ("7b", ""),
    ],
)
def test_the_family_of_a_model_is_read_off_its_name(name: str, family: str) -> None:
    assert family_of(name) == family


def test_a_stored_report_is_not_of_a_run_that_has_finished_since() -> None:
    study, standard, traces = small_study()
    run = make_run(make_monitor(study, "m"), "BLIND", standard, flag_errors(traces), status="running")
    compute_report(study=study, standard=standard, resamples=0)
    Run.objects.filter(pk=run.pk).update(status=Run.Status.FINISHED)
    later = document_of(compute_report(study=study, standard=standard, resamples=0))
    assert "partial_run" not in {warning["kind"] for warning in later["warnings"]}


def test_the_digest_of_verdicts_tells_what_was_said_not_which_row_said_it() -> None:
    study, standard, traces = small_study()
    make_run(make_monitor(study, "m"), "BLIND", standard, flag_errors(traces))
    first = load(study, standard)
    make_run(study.monitors.get(), "BLIND", standard, dict(reversed(flag_errors(traces).items())))
    again = load(study, standard)
    assert first.fingerprint != again.fingerprint
    assert first.verdicts_sha256 == again.verdicts_sha256
    make_run(study.monitors.get(), "BLIND", standard, flag_errors(traces, step=3))
    assert load(study, standard).verdicts_sha256 != first.verdicts_sha256


def test_verdicts_read_in_pieces_are_those_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    study, _, traces = small_study()
    ready = make_standard(study, dict.fromkeys(traces[:7], (False, 2)))
    said = flag_errors(traces) | {traces[1]: ("refusal", None, None), traces[2]: ("inconsistent", False, 3)}
    for slug in ("m", "n"):
        make_run(make_monitor(study, slug), "BLIND", ready, dict(reversed(said.items())))
    whole = load(study, ready)
    monkeypatch.setattr(source, "AT_ONCE", 3)
    pieces = load(study, ready)
    assert pieces.verdicts_sha256 == whole.verdicts_sha256
    assert pieces.runs == whole.runs
    assert set(pieces.left_out.values()) == {1}
    verdicts = pieces.panel.verdicts["BLIND"]
    assert verdicts.valid[1].tolist() == [True, False, True, True, True, True, True]
    assert verdicts.step[1].tolist() == [0, 0, 0, 0, 2, 2, 2]
    assert verdicts.confidence[1, 4:].tolist() == [90.0] * 3


def test_exchanging_the_arms_changes_nothing_in_the_report() -> None:
    study, _, traces = small_study()
    reports = []
    for human, debate in (("human", "debate"), ("debate", "human")):
        rows = (
            StandardLabel(
                trace=trace,
                status="ready",
                final_correct=n % 3 == 0,
                first_error_step=2 if n % 2 else None,
                provenance=f"{human}_only" if n == 5 else "adjudicated",
                **{
                    f"{human}_final_correct": n % 3 == 0,
                    f"{human}_first_error_step": 3 if n % 2 else None,
                    f"{debate}_final_correct": None if n == 5 else n % 4 == 0,
                    f"{debate}_first_error_step": 2 if n % 3 and n != 5 else None,
                },
            )
            for n, trace in enumerate(traces)
        )
        computed = report_of(study, store_standard(study, rows))
        for name in ("version", "sha256"):
            computed["reference"].pop(name)
        reports.append(json.dumps(computed))
    assert reports[0] == reports[1]
    assert "human" not in reports[0]


def test_loading_takes_a_fixed_number_of_queries(django_assert_num_queries: Any) -> None:
    study, standard, traces = small_study()
    for slug in ("m", "n", "o"):
        make_run(make_monitor(study, slug), "BLIND", standard, flag_errors(traces))
    with django_assert_num_queries(10):
        load(study, standard)
