"""What the report writes: tables in words, CSV, LaTeX, figures; and the command that writes them."""

from __future__ import annotations

import copy
import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from io import StringIO
from pathlib import Path
from typing import Any

import matplotlib
import pytest
from django.core.management import CommandError, call_command
from django.db import transaction

from annotation.models import Study, Trace
from monitoring.report import figures, series_more, svg_more
from monitoring.report.cells import as_text, plain
from monitoring.report.csvs import csv_files
from monitoring.report.figures import write_figures
from monitoring.report.latex import as_latex, escape, latex_file
from monitoring.report.sentences import small_print, summary
from monitoring.report.series import ladder_panels, localisation_panel, place_bars
from monitoring.report.svg import bars_svg, legend_mark, panel_svg
from monitoring.report.tables import tables
from stats.report import Options
from tests.monitoring.report_build import load_release, make_monitor, make_run, small_study
from tests.monitoring.test_report_build import flag_errors, report_of

pytestmark = pytest.mark.django_db
FIGURES = ("overview", "ladder", "localisation", "certificates", "lengths", "reliability", "questions")


@pytest.fixture
def small() -> dict[str, Any]:
    """The report of one monitor under two conditions, one verdict of which failed."""
    study, standard, traces = small_study()
    monitor = make_monitor(study, "under_score")
    make_run(monitor, "BLIND", standard, flag_errors(traces))
    said: dict[Trace, tuple[Any, ...]] = flag_errors(traces)
    said[traces[0]] = ("refusal", None, None)
    said[traces[7]] = ("ok", False, None)
    make_run(monitor, "CERT", standard, said)
    return report_of(study, standard)


@pytest.fixture(scope="module")
def reported(shared: Path, django_db_setup: None, django_db_blocker: Any) -> dict[str, Any]:
    """The report of the published release, made once for this file; nothing of it stays in the database."""
    with django_db_blocker.unblock(), transaction.atomic():
        made = report_of(*load_release(shared / "release"), Options(resamples=50, studies=20))
        transaction.set_rollback(True)
    return made


@pytest.fixture
def release(reported: dict[str, Any]) -> dict[str, Any]:
    return copy.deepcopy(reported)


def test_every_table_has_a_cell_for_each_column(release: dict[str, Any]) -> None:
    made = tables(release)
    assert {table.section for table in made} == {
        "detection",
        "localisation",
        "cells",
        "certificates",
        "revision",
        "standard",
        "outcomes",
        "comparison",
        "length",
        "calibration",
        "dependence",
        "power",
        "grading",
    }
    assert len({table.key for table in made}) == len(made)
    for table in made:
        assert all(len(row) == len(table.columns) for row in table.rows), table.key


def test_a_table_in_words_lines_up_and_says_what_is_undefined(small: dict[str, Any]) -> None:
    by_key = {table.key: table for table in tables(small)}
    lines = as_text(by_key["detection_cert"]).splitlines()
    assert lines[0] == "Detection under CERT"
    assert lines[1].split()[:3] == ["monitor", "n", "failed"]
    assert lines[3].split()[:5] == ["under_score", "7", "1", "0.429", "0.750"]
    assert len({len(line) for line in lines[1:]}) == 1
    recall = by_key["ladder_recall"].rows[0]
    assert str(recall[1]).startswith("1.000 [")


def test_an_undefined_number_is_a_dash_with_its_reason() -> None:
    study, standard, traces = small_study()
    make_run(make_monitor(study, "m"), "BLIND", standard, {traces[0]: ("ok", False, None)})
    row = tables(report_of(study, standard))[0].rows[0]
    assert (row[4].text, row[4].reason) == ("–", "no valid verdict on a trace with an error")


def test_csv_holds_every_number_unrounded(release: dict[str, Any]) -> None:
    files = csv_files(release)
    rows = list(csv.DictReader(io.StringIO(files["detection.csv"])))
    assert len(rows) == 6 * 6
    for row in rows:
        section = release["detection"][row["condition"]]
        record = section["mean"] if row["monitor"] == "(mean)" else section["monitors"][row["monitor"]]
        assert float(row["balanced_accuracy"]) == record["balanced_accuracy"]
        assert [float(row["auc_low"]), float(row["auc_high"])] == record["auc_ci"] if row["auc"] else True
    step = next(row for row in rows if row["condition"] == "STEP")
    assert (step["auc"], step["auc_low"]) == ("", "")
    assert "STEP" in step["auc_reason"]
    contrasts = list(csv.DictReader(io.StringIO(files["contrasts.csv"])))
    found = next(
        row
        for row in contrasts
        if (row["contrast"], row["cell"], row["monitor"]) == ("CERT-BLIND", "difference", "(mean)")
    )
    expected = release["contrasts"]["CERT-BLIND"]["difference"]
    assert [float(found[name]) for name in ("estimate", "estimate_low", "estimate_high")] == [
        expected["estimate"],
        *expected["ci"],
    ]


def test_latex_escapes_names_and_balances_its_parts(small: dict[str, Any]) -> None:
    text = latex_file(small)
    assert r"under\_score" in text
    assert escape(r"a_b%c\d{e}$&#^~") == (
        r"a\_b\%c\textbackslash{}d\{e\}\$\&\#\textasciicircum{}\textasciitilde{}"
    )
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == len(tables(small))
    for block in re.findall(r"\\begin{tabular}{(\w+)}(.*?)\\end{tabular}", text, re.DOTALL):
        rows = [line for line in block[1].splitlines() if line.endswith(r"\\")]
        assert all(line.count(" & ") == len(block[0]) - 1 for line in rows)
    assert not re.search(r"[^\x00-\x7f]", re.sub(r"%.*", "", text))


def test_latex_tables_hold_no_sign_that_tex_would_read_as_its_own(release: dict[str, Any]) -> None:
    for table in tables(release):
        text = as_latex(table).replace(r"\fi}{!}{%", r"\fi}{!}{")
        for line in text.splitlines():
            assert not re.search(r"(?<!\\)[%#]", line), line
            assert line.count("$") % 2 == 0, line
        assert text.count("{") == text.count("}"), table.key


def test_latex_sets_the_intervals_of_a_wide_table_under_its_numbers(release: dict[str, Any]) -> None:
    typeset = {table.key: as_latex(table) for table in tables(release)}
    wide, narrow = typeset["detection_blind"].splitlines(), typeset["ladder_recall"].splitlines()
    under = [line for line in wide if line.startswith(" &  &  &  & {\\footnotesize $[")]
    assert len(under) == 6
    assert any(re.match(r"BLIND & \$[\d.]+\$ \{\\footnotesize \$\[", line) for line in narrow)


def test_figures_are_written_in_three_formats_with_words_and_the_same_each_time(
    release: dict[str, Any], tmp_path: Path
) -> None:
    names = {path.name for path in write_figures(release, tmp_path / "one")}
    assert names == {f"{name}.{kind}" for name in FIGURES for kind in ("svg", "pdf", "png", "txt")}
    with matplotlib.rc_context(figures.STYLE):
        drawn = next(one for one in figures._drawn(release) if one[0] == "localisation")
        again = figures._write(tmp_path / "two", *drawn)
    assert len(again) == 4
    for path in again:
        assert (tmp_path / "one" / path.name).read_bytes() == path.read_bytes(), path.name
    words = (tmp_path / "one" / "ladder.txt").read_text()
    assert words.splitlines()[0] in (tmp_path / "one" / "ladder.svg").read_text()
    mean = release["detection"]["CERT"]["mean"]["balanced_accuracy"]
    assert f"CERT {mean:.3f}" in words


def test_figures_show_the_numbers_of_the_report(release: dict[str, Any]) -> None:
    accuracy, wrong, critical = ladder_panels(release)
    assert accuracy.conditions == ("BLIND", "HINT", "CERT", "REVISE")
    for panel, section in ((wrong, "wrong"), (critical, "critical")):
        for place, condition in enumerate(panel.conditions):
            cell = release["ladder_recall"][condition][section]
            assert panel.mean[place] == cell["mean"]
            assert {line.name: line.values[place] for line in panel.lines} == cell["monitors"]
    bars = place_bars(release)
    assert bars is not None
    assert all(sum(shares) == pytest.approx(1) for shares in bars.shares)


def test_further_figures_and_files_hold_the_numbers_of_the_report(release: dict[str, Any]) -> None:
    glance = series_more.overview(release)
    assert dict(glance.cells) == {"clean": 130, "wrong": 83, "critical": 24}
    assert [box.number.text for box in glance.stages] == ["252", "237", "237", "7223"]
    wrong, clean = series_more.certificate_panels(release)
    assert (wrong.conditions, clean.conditions) == (("BLIND", "CERT", "CMATCH"), ("CERT", "CCONFLICT"))
    effects = series_more.certificate_effects(release)
    assert effects is not None
    assert [row[1] for row in effects.rows] == [
        release["certificate"][name]["estimate"] for name in ("CERT-CMATCH", "CMATCH-BLIND", "CCONFLICT-CERT")
    ]
    one = series_more.heat(release, "BLIND")
    assert one is not None
    assert (len(one.questions), len(one.monitors)) == (79, 5)
    drawn = [svg_more.overview_svg(glance), svg_more.effects_svg(effects), svg_more.heat_svg(one)]
    drawn += [svg_more.reliability_svg(curve) for curve in series_more.reliability(release)[1]]
    for svg in drawn:
        assert all(ET.fromstring(svg).findtext(name) for name in ("title", "desc"))
        assert "style=" not in svg
    files = csv_files(release)
    for name in ("pairwise", "leave_one_out", "calibration", "positions", "questions", "power", "dependence"):
        rows = list(csv.DictReader(io.StringIO(files[f"{name}.csv"])))
        assert rows, name
    pairs = list(csv.DictReader(io.StringIO(files["pairwise.csv"])))
    assert len(pairs) == 6 * 10
    assert float(pairs[0]["L0"]) == release["pairwise"]["BLIND"][0]["L0"]


def test_the_page_figures_are_sound_svg_with_a_text_alternative(release: dict[str, Any]) -> None:
    panel, bars = localisation_panel(release), place_bars(release)
    assert panel is not None
    assert bars is not None
    drawn = [panel_svg(p) for p in (*ladder_panels(release), panel)] + [bars_svg(bars)]
    drawn += [legend_mark(line) for line in panel.lines]
    for text in drawn:
        root = ET.fromstring(text)
        assert root.get("aria-hidden") or all(root.findtext(name) for name in ("title", "desc"))
        assert "style" not in text


def test_nine_monitors_differ_in_colour_or_shape() -> None:
    study, standard, traces = small_study()
    for number in range(20):
        make_run(make_monitor(study, f"m{number:02}"), "BLIND", standard, flag_errors(traces))
    lines = ladder_panels(report_of(study, standard))[0].lines
    assert len({(line.colour, line.marker) for line in lines}) == 20


def test_a_study_without_verdicts_still_has_words_tables_and_the_overview(tmp_path: Path) -> None:
    study, standard, _ = small_study()
    computed = report_of(study, standard)
    assert plain(summary(computed)).endswith("No monitor has run yet.")
    assert {path.stem for path in write_figures(computed, tmp_path)} == {"overview"}
    assert "Verdicts: 0" in (tmp_path / "overview.txt").read_text(encoding="utf-8")
    assert ladder_panels(computed) == []
    assert plain(dict(small_print(computed))["Left out of the standard"]) == "nothing"
    latex_file(computed)
    assert "oracle.csv" in csv_files(computed)


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("report", *arguments, stdout=out)
    return out.getvalue()


def test_the_command_prints_tables_and_writes_what_was_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(folder: Path, name: str, figure: object, words: str) -> list[Path]:
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.txt").write_text(words)
        return [folder / f"{name}.txt"]

    monkeypatch.setattr(figures, "_write", write)  # another test has them drawn
    study, standard, traces = small_study()
    make_run(make_monitor(study, "m"), "BLIND", standard, flag_errors(traces))
    said = run(
        "--study",
        "small",
        "--json",
        str(tmp_path / "r.json"),
        "--csv",
        str(tmp_path / "csv"),
        "--latex",
        str(tmp_path / "tex" / "t.tex"),
        "--figures",
        str(tmp_path / "figures"),
        "--resamples",
        "20",
    )
    assert "Detection under BLIND" in said
    assert "Localisation under BLIND" in said
    assert "warning: 4 questions" in said
    for line in re.findall(r"^wrote (.*)$", said, re.MULTILINE):
        assert Path(line).is_file()
    assert json.loads((tmp_path / "r.json").read_text()) == report_of(study, standard)
    drawn = {path.stem for path in (tmp_path / "figures").iterdir()}
    assert drawn == {"overview", "ladder", "localisation", "lengths", "reliability", "questions"}


def test_the_command_writes_json_alone_to_standard_output() -> None:
    small_study()
    assert json.loads(run("--study", "small", "--json", "-"))["reference"]["traces"] == 8


def test_standard_output_takes_one_text_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    small_study()
    for name, begins in (("latex", "%"), ("macros", "%"), ("methods", "Standard")):
        said = run("--study", "small", f"--{name}", "-", "--resamples", "0")
        assert said.startswith(begins), said[:80]
        assert "wrote" not in said
    for arguments in (("--json", "-", "--latex", "-"), ("--csv", "-"), ("--figures", "-")):
        with pytest.raises(CommandError, match="standard output"):
            run("--study", "small", *arguments)
    assert list(tmp_path.iterdir()) == []


def test_published_intervals_are_chosen_by_name(shared: Path, tmp_path: Path) -> None:
    load_release(shared / "release")
    expected = json.loads((shared / "release" / "EXPECTED.json").read_text(encoding="utf-8"))
    run("--study", "hle", "--convention", "published", "--json", str(tmp_path / "r.json"))
    found = json.loads((tmp_path / "r.json").read_text())
    for condition, section in expected["localisation"].items():
        if "L0_ci_published_convention" in section["mean"]:
            mean = found["localisation"][condition]["mean"]
            assert mean["L0_ci"] == pytest.approx(section["mean"]["L0_ci_published_convention"], abs=1e-9)
    for contrast in ("CERT-CMATCH", "CMATCH-BLIND", "CCONFLICT-CERT"):
        wanted = expected["certificate"][contrast]["ci_published_convention"]
        assert found["certificate"][contrast]["ci"] == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize(
    ("arguments", "words", "status"),
    [
        (["--study", "nowhere"], 'no study named "nowhere"', 1),
        (["--study", "small", "--standard", "7"], "no standard 7; there are: 1", 1),
        (["--study", "empty"], "has no reference standard yet", 1),
        (["--study", "small", "--json", "/dev/null/x"], "cannot be written", 1),
        (["--study", "small", "--csv", "/dev/null/x"], "cannot be written", 1),
        (["--study", "small", "--figures", "/dev/null/x"], "cannot be written", 1),
    ],
)
def test_the_command_says_what_is_wrong(arguments: list[str], words: str, status: int) -> None:
    study, standard, traces = small_study()
    make_run(make_monitor(study, "m"), "BLIND", standard, flag_errors(traces))
    Study.objects.create(slug="empty", name="Empty")
    with pytest.raises(CommandError, match=re.escape(words)) as caught:
        run(*arguments, "--resamples", "10")
    assert caught.value.returncode == status


@pytest.mark.parametrize(
    "bad", [["--resamples", "-1"], ["--resamples", "1000000000"], ["--seed", "x"], ["--convention", "theirs"]]
)
def test_the_command_refuses_bad_usage(bad: list[str]) -> None:
    small_study()
    with pytest.raises(CommandError):
        run("--study", "small", *bad)
