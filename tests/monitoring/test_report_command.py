"""The report command beyond one standard: straight from a release, two standards, macros, methods."""

from __future__ import annotations

import json
import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Question, Study
from monitoring.report.cells import plain
from monitoring.report.macros import letters, macros, monitor_names
from monitoring.report.methods import methods, methods_latex
from tests.monitoring.report_build import make_monitor, make_run, make_standard, small_study
from tests.monitoring.test_report_build import flag_errors
from tests.stats.test_release import PRINTED, differences


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("report", *arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


@pytest.fixture(scope="module")
def released(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Without the mark for a database any query would fail."""
    path = tmp_path_factory.mktemp("report") / "report.json"
    run("--from-release", str(shared / "release"), "--json", str(path))
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


def test_a_release_is_reported_without_a_database(released: dict[str, Any], shared: Path) -> None:
    expected = json.loads((shared / "release" / "EXPECTED.json").read_text(encoding="utf-8"))
    assert differences(released, expected) == []
    assert released["reference"]["not_ready"] == {"excluded": 15}
    own = released["involvement"]["self_review"]["monitors"]
    assert own == {"google_gemini-3.1-pro-preview": {"traces": 79, "error_traces": 32}}


@pytest.mark.django_db
def test_a_release_and_its_import_give_the_same_report(
    released: dict[str, Any], shared: Path, tmp_path: Path
) -> None:
    call_command("import_release", str(shared / "release"), "--study", "hle", stdout=StringIO())
    run("--study", "hle", "--json", str(tmp_path / "db.json"))
    stored = json.loads((tmp_path / "db.json").read_text(encoding="utf-8"))
    assert stored["reference"] | {"study": ""} == released["reference"] | {"study": ""}
    assert stored["verdicts"]["sha256"] == released["verdicts"]["sha256"]
    named = ("reference", "verdicts")
    first, second = (
        {name: content for name, content in document.items() if name not in named}
        for document in (stored, released)
    )
    assert first == second


def test_a_folder_that_is_no_release_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="no such folder"):
        run("--from-release", str(tmp_path / "none"))
    with pytest.raises(CommandError, match="public_manifest"):
        run("--from-release", str(tmp_path))


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--from-release", "x", "--standard", "1"), "holds one standard"),
        (("--from-release", "x", "--compare", "1", "2"), "--compare needs --study"),
        (("--from-release", "x", "--length", "1-8"), "--length selects traces of a study"),
        (("--study", "s", "--compare", "1", "2", "--csv", "d"), "writes --json alone"),
    ],
)
def test_options_that_do_not_go_together_are_refused(arguments: tuple[str, ...], complaint: str) -> None:
    with pytest.raises(CommandError, match=complaint):
        run(*arguments)


def two_standards() -> Study:
    study, standard, traces = small_study()
    make_run(make_monitor(study, "m"), "BLIND", standard, flag_errors(traces))
    labels = dict.fromkeys(traces[:4], (True, None)) | dict.fromkeys(traces[4:], (False, 2))
    make_standard(study, labels, parent=standard, note="the last was wrong")
    return study


@pytest.mark.django_db
def test_two_standards_stand_side_by_side(tmp_path: Path) -> None:
    two_standards()
    path = tmp_path / "both.json"
    said = run("--study", "small", "--compare", "1", "2", "--resamples", "20", "--json", str(path))
    assert "standard 1 and standard 2; 1 label differ" in said
    both = json.loads(path.read_text(encoding="utf-8"))
    assert [s["critical"] for s in both["standards"]] == [1, 0]
    assert both["changed_labels"] == 1
    exact = next(f for f in both["figures"] if (f["group"], f["who"], f["figure"]) == ("BLIND", "m", "L0"))
    assert (exact["values"], exact["change"]) == ([0.75, 1.0], 0.25)
    assert "0.750" in said
    assert "+0.250" in said
    assert all(f["change"] is not None or f["change_reason"] for f in both["figures"])


@pytest.mark.django_db
def test_a_standard_beside_itself_changes_nothing() -> None:
    two_standards()
    both = json.loads(run("--study", "small", "--compare", "2", "2", "--resamples", "20", "--json", "-"))
    assert both["changed_labels"] == 0
    assert {f["change"] for f in both["figures"]} <= {0.0, None}


def test_macros_hold_the_printed_numbers_under_the_published_names(released: dict[str, Any]) -> None:
    made = macros(released)
    assert {name for name in made if not re.fullmatch(r"[A-Za-z]+", name)} == set()
    known = {
        "GoldTraces": "237",
        "GoldErrors": "107",
        "ArmJointN": "135",
        "ArmCorrectAgreePct": "95.6",
        "ArmStepAgreeN": "19",
        "FinalAnswerOracleBal": r"\ensuremath{0.888}",
        "GeminiBlindBal": r"\ensuremath{0.799}",
        "DeepseekCertWrong": r"\ensuremath{0.988}",
        "QwenThreeLadderCommonN": "229",
        "LengthFlawedMedian": r"\ensuremath{12.5}",
        "CmatchEligibleN": "82",
        "CmatchMissingAnswerN": "1",
        "SignK": "5",
        "GoldAuthorAdjudicated": "42",
        "GoldAuthorAdjudicatedErrors": "34",
        "GoldAuthorAdjudicatedCritical": "16",
        "FinalAnswerOracleLoc": r"\ensuremath{0.000}",
        "GeminiWdGap": r"\ensuremath{+0.555}",
        "QwenThreeNetWdFlawed": r"\ensuremath{+0.421}",
        "CorrectAnswerTotalN": "154",
        "GeminiCmatchPairedN": "82",
        "CconflictSwitchedInteriorMajorityN": "4",
        "CconflictSwitchedInteriorNinetyN": "3",
        "BlindLocAgreedMonitorTraceN": "95",
        "BlindLocWithinOnePooled": r"\ensuremath{0.411}",
        "NoDeepseekSignP": r"\ensuremath{0.1250}",
    }
    assert {name: made[name] for name in known} == known
    for family in (
        "BlindBalCI",
        "CertLocCI",
        "DiDLo",
        "RevCleanDeltaWithdraw",
        "HeadroomClosedPct",
        "RctrlNMon",
    ):
        assert family in made
    blind = rf"\ensuremath{{{1 - released['ladder_recall']['BLIND']['clean_flag_rate']['mean']:.3f}}}"
    assert made["BlindCorrectAnswerCleanSpec"] == blind
    found = released["certificate"]["CMATCH-BLIND"]["monitors"]
    others = [row["estimate"] for monitor, row in found.items() if "gemini" not in monitor]
    assert made["NoGeminiCmatchMinusBlind"] == rf"\ensuremath{{{sum(others) / len(others):+.3f}}}"
    assert made["BlindMinusCmatch"] == made["CmatchMinusBlind"].replace("-", "+")
    assert made["DiDCI"].startswith(r"[\ensuremath{+")


@pytest.mark.django_db
def test_a_report_can_be_of_some_traces_only(tmp_path: Path) -> None:
    study, standard, traces = small_study()
    make_run(make_monitor(study, "m"), "BLIND", standard, dict.fromkeys(traces, ("ok", False, None)))
    Question.objects.filter(pk=traces[0].question_id).update(subject="optics")
    path = tmp_path / "some.json"
    options = ["--study", study.slug, "--resamples", "0", "--json", str(path)]
    printed = run(*options, "--subject", "optics", "--length", "1-8")
    assert "only questions on optics, traces of up to 8 steps" in printed
    some = json.loads(path.read_text(encoding="utf-8"))
    of_question = [t for t in traces if t.question_id == traces[0].question_id]
    assert some["reference"]["traces"] == len(of_question) == some["detection"]["BLIND"]["monitors"]["m"]["n"]
    assert some["reference"]["selection"] == {"subject": "optics", "length": "1-8"}
    for wrong, words in (
        (["--subject", "alchemy"], 'no trace of the subject "alchemy"; there are: mechanics, optics'),
        (["--generator", "nobody"], 'no trace of the generator "nobody"'),
        (
            ["--subject", "optics", "--length", "33-"],
            "has no questions on optics, traces of more than 32 steps",
        ),
    ):
        with pytest.raises(CommandError, match=words):
            run(*options, *wrong)


def test_names_of_macros_are_letters_and_differ() -> None:
    assert letters("qwen_qwen3-32b") == "QwenQwenThreeThreeTwob"
    names = monitor_names([*PRINTED, "x_llama-4", "a-b", "a_b", "random"])
    assert len(set(names.values())) == len(names)
    assert names["google_gemini-3.1-pro-preview"] == "Gemini"
    assert names["x_llama-4"] != "Llama"  # two llamas: neither takes the short name


def test_the_methods_say_the_studys_own_numbers_hashes_and_exclusions(released: dict[str, Any]) -> None:
    text = {heading: plain(said) for heading, said in methods(released)}
    assert "237 traces of 79 questions" in text["Standard"]
    assert "135 of the traces both" in text["Standard"]
    assert "5 monitors" in text["Monitors"]
    assert "2000 resamples of the 79 questions" in text["Intervals"]
    assert "15 traces excluded" in text["Exclusions and failures"]
    assert released["reference"]["sha256"] in text["Provenance"]
    assert r"\paragraph{Standard}" in methods_latex(released)
    assert r"95\% percentile intervals" in methods_latex(released)


@pytest.mark.django_db
def test_macros_and_methods_are_written_for_a_study_with_little_in_it(tmp_path: Path) -> None:
    small_study()
    tex, words = tmp_path / "m.tex", tmp_path / "methods.tex"
    run("--study", "small", "--macros", str(tex), "--methods", str(words), "--resamples", "0")
    assert r"\newcommand{\GoldTraces}{8}" in tex.read_text(encoding="utf-8")
    assert r"\newcommand{\StudyName}{small}" in tex.read_text(encoding="utf-8")
    assert "No intervals were computed." in words.read_text(encoding="utf-8")
