"""The published numbers of all eight monitors, when the complete release is there.

`FALSESTEP_RELEASE` names its folder. Without it these tests are skipped, also under FALSESTEP_REQUIRE_ALL: the
complete release cannot be handed out with this repository.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from stats.report import PUBLISHED, Options, build_report
from tests.stats import published
from tests.stats.release import load_panel, with_roles

FOLDER = os.environ.get("FALSESTEP_RELEASE", "")
pytestmark = pytest.mark.skipif(
    not FOLDER, reason="FALSESTEP_RELEASE does not name the complete release of eight monitors"
)


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    panel = with_roles(load_panel(Path(FOLDER)), published.ROLES)
    assert len(panel.monitors) == len(published.ORDER)
    return build_report(panel, Options(convention=PUBLISHED, studies=0))


def of(section: dict[str, Any], name: str) -> Any:
    """The entry of a monitor by its name in the published order."""
    found = [value for slug, value in section.items() if name in slug]
    assert len(found) == 1, name
    return found[0]


@pytest.mark.parametrize("condition", sorted(published.MEANS))
def test_the_means_over_eight_monitors_are_the_published_ones(report: dict[str, Any], condition: str) -> None:
    detection = report["detection"][condition]["mean"]
    localisation = report["localisation"][condition]["mean"]
    for name, value in published.MEANS[condition].items():
        ours = (localisation if name in ("L0", "L1") else detection)[name]
        digits = 3 if name in ("sensitivity", "specificity") else 5
        assert ours == pytest.approx(value, abs=0.6 * 10**-digits), name


@pytest.mark.parametrize("condition", sorted(published.L0_HITS))
def test_exact_localisations_by_monitor(report: dict[str, Any], condition: str) -> None:
    section = report["localisation"][condition]["monitors"]
    ours = tuple(of(section, name)["exact"] for name in published.ORDER)
    assert ours == published.L0_HITS[condition]


@pytest.mark.parametrize("condition", sorted(published.L1_HITS))
def test_localisations_within_one_step_by_monitor(report: dict[str, Any], condition: str) -> None:
    section = report["localisation"][condition]["monitors"]
    rows = [of(section, name) for name in published.ORDER]
    assert tuple(round(r["L1"] * r["n_error_traces"]) for r in rows) == published.L1_HITS[condition]


def test_intervals_over_eight_monitors(report: dict[str, Any]) -> None:
    for known, tolerance in ((published.INTERVALS, 1e-6), (published.INTERVALS_4, 1e-4)):
        for (condition, name), bounds in known.items():
            section = "localisation" if name == "L0" else "detection"
            ours = report[section][condition]["mean"][f"{name}_ci"]
            assert ours == pytest.approx(bounds, abs=tolerance), (condition, name)


def test_chance_skill_and_places(report: dict[str, Any]) -> None:
    for condition, numbers in published.CHANCE.items():
        mean = report["localisation"][condition]["mean"]
        ours = [mean[name] for name in ("L0_chance", "L1_chance", "L0_skill", "L1_skill")]
        assert ours == pytest.approx(numbers, abs=6e-4), condition
    for condition, counts in published.PLACES.items():
        rows = report["localisation"][condition]["monitors"].values()
        assert tuple(sum(r[p] for r in rows) for p in ("early", "exact", "late", "missed")) == counts


def test_common_subset_contrasts_and_headroom(report: dict[str, Any]) -> None:
    for name, counts in published.COMMON.items():
        row = of(report["common_subset"], name)
        assert (row["wrong"], row["critical"], row["clean"]) == counts
    found = report["contrasts"]["CERT-BLIND"]
    for cell, (estimate, low, high) in published.CONTRAST.items():
        assert found[cell]["estimate"] == pytest.approx(estimate, abs=1e-4)
        assert found[cell]["ci"] == pytest.approx([low, high], abs=1e-4)
    assert (found["difference"]["positive"], found["difference"]["monitors"]) == (8, 8)
    assert found["difference"]["sign_test_p"] == pytest.approx(0.0078125)
    assert report["headroom_closed"] == pytest.approx(published.HEADROOM, abs=1e-4)
    without = of(report["leave_one_out"], published.FABLE)["CERT-BLIND"]
    assert without["difference"] == pytest.approx(published.NO_FABLE[0], abs=1e-4)
    assert without["difference_ci"] == pytest.approx(published.NO_FABLE[1:], abs=1e-4)


def test_subsets_and_revision(report: dict[str, Any]) -> None:
    for condition, value in published.ANSWER_CORRECT.items():
        assert report["answer_correct_subset"][condition] == pytest.approx(value, abs=1e-4)
    assert report["consensus_subset"]["n"] == 19
    for condition, value in published.CONSENSUS.items():
        assert report["consensus_subset"][condition] == pytest.approx(value, abs=6e-4)
    for (cell, name), value in published.REVISION_MEANS.items():
        assert report["revision"][cell][name] == pytest.approx(value, abs=6e-4 if value < 0.15 else 1e-5)


def test_critical_traces_by_role(report: dict[str, Any]) -> None:
    assert report["critical_roles"]["not_coded"] == 0
    for role, (n, *values) in published.TABLE_2.items():
        ours = report["critical_roles"][role]
        assert ours["n"] == n
        found = [ours[name] for name in (*published.LADDER, "CERT-BLIND")]
        assert found == pytest.approx(values, abs=6e-4), role


def test_false_certificates_over_seven_monitors(report: dict[str, Any]) -> None:
    section = report["certificate"]
    assert len(section["monitors"]) == 7
    assert section["eligible"] == {"CMATCH": 82, "CCONFLICT": 50}
    for name, (estimate, low, high) in published.CERTIFICATE.items():
        assert section[name]["estimate"] == pytest.approx(estimate, abs=6e-4)
        assert section[name]["ci"] == pytest.approx([low, high], abs=6e-4)
        assert section[name]["same_direction"] == 7
    suppressed = section["suppressed_localisations"]
    counts = tuple(suppressed[k] for k in ("cases", "passed_under_CERT", "passed_under_CMATCH"))
    assert counts == published.SUPPRESSED
    interior = section["interior_attribution"]
    assert (interior["newly_flagged"], interior["interior"]) == published.INTERIOR
    shares = (interior["monitors_over_half"], interior["monitors_over_nine_tenths"])
    assert shares == published.INTERIOR_MONITORS
    for name, estimate in published.NO_FABLE_CERTIFICATE.items():
        rows = section[name]["monitors"]
        others = [row["estimate"] for monitor, row in rows.items() if published.FABLE not in monitor]
        assert sum(others) / len(others) == pytest.approx(estimate, abs=6e-4)
