"""The statistics beyond the paper, each against a plain version on random data."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import isnan, nan, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import assume, given, settings

from stats import (
    Panel,
    Resample,
    TraceRow,
    by_arm,
    by_question,
    calibrate,
    disputed,
    localise,
    pairwise,
    positions,
    processbench,
    simulate_power,
    without_each,
)
from stats.ladder import rate_bounds
from stats.positions import positions_of_errors, tenths_of
from stats.power import sizes_about
from stats.report import Options, build_report
from tests.stats import plain
from tests.stats.plain import Item, to_panel
from tests.stats.release import load_panel
from tests.stats.strategies import monitors, some_condition
from tests.stats.test_properties import POINTS, SEED, B, same

few = settings(max_examples=30, deadline=None)


def resample_of(panel: Panel) -> Resample:
    return Resample(panel.reference.n_questions, resamples=B, seed=SEED)


def condition_of(items: list[list[Item]]) -> str:
    found = some_condition(items)
    assume(found is not None)
    assert found is not None
    return found


@few
@given(monitors())
def test_processbench_equals_the_plain_version(items: list[list[Item]]) -> None:
    condition, panel = condition_of(items), to_panel(items)
    found = processbench(panel.reference, panel.verdicts[condition], resample_of(panel))

    def correct(one: Any) -> float:
        clean = [i for i in one if not i.row.step and i.covered(condition)]
        return plain.share(clean, lambda i: i.valid(condition) and not i.flag(condition))

    def harmonic(one: Any) -> float:
        a, b = plain.located(one, condition, 0), correct(one)
        return 0.0 if a + b == 0 else 2 * a * b / (a + b)

    for m, one in enumerate(items):
        assert same(found.correct_accuracy[0, m], correct(one))
        assert same(found.error_accuracy[0, m], plain.located(one, condition, 0))
        assert same(found.harmonic_mean[0, m], harmonic(one))
        boots = plain.bootstrap([one], harmonic, resamples=B, seed=SEED)
        assert same(found.harmonic_mean[1:, m], boots)


@few
@given(monitors())
def test_calibration_equals_the_plain_version(items: list[list[Item]]) -> None:
    condition, panel = condition_of(items), to_panel(items)
    found = calibrate(panel.reference, panel.verdicts[condition], resample_of(panel))
    for m, one in enumerate(items):
        asked = [i for i in one if i.valid(condition) and i.said[condition][2] is not None]
        pairs = [((i.said[condition][2] or 0.0) / 100, float(bool(i.row.step))) for i in asked]
        assert found.n[m] == len(pairs) == found.in_bin[m].sum()
        assert same(found.brier[0, m], np.mean([(p - y) ** 2 for p, y in pairs]) if pairs else nan)
        for k in range(10):
            inside = [(p, y) for p, y in pairs if min(int(p * 10), 9) == k]
            assert same(found.error_share[m, k], np.mean([y for _, y in inside]) if inside else nan)


@few
@given(monitors())
def test_pairwise_differences_equal_the_plain_version(items: list[list[Item]]) -> None:
    condition, panel = condition_of(items), to_panel(items)
    verdicts = panel.verdicts[condition]
    found = pairwise(panel.reference, verdicts, resample_of(panel))
    assert found.pairs == tuple(combinations(verdicts.monitors, 2))
    for place, (a, b) in enumerate(combinations(range(len(items)), 2)):
        keys = [
            k for k in range(len(items[0])) if items[a][k].valid(condition) and items[b][k].valid(condition)
        ]
        assert found.n[place] == len(keys)
        first, second = ([one[k] for k in keys] for one in (items[a], items[b]))
        expected = plain.balanced_accuracy(first, condition) - plain.balanced_accuracy(second, condition)
        assert same(found.balanced_accuracy[0, place], expected)


@few
@given(monitors())
def test_leaving_a_monitor_out_is_the_mean_of_the_others(items: list[list[Item]]) -> None:
    condition, panel = condition_of(items), to_panel(items)
    samples = localise(panel.reference, panel.verdicts[condition], resample_of(panel)).L0
    left = without_each(samples)
    for m in range(samples.shape[1]):
        others = np.delete(samples, m, axis=1)
        for row, expected in zip(left[:, m], others, strict=True):
            defined = expected[~np.isnan(expected)]
            assert same(row, defined.mean() if len(defined) else nan)


@few
@given(monitors())
def test_positions_and_questions_equal_the_plain_versions(items: list[list[Item]]) -> None:
    condition, panel = condition_of(items), to_panel(items)
    found = positions(panel.reference, panel.verdicts[condition], resample_of(panel))
    for c, cell in enumerate(("clean", "wrong", "critical")):
        named = [i for one in items for i in one if i.cell == cell and i.named(condition)]
        assert found.n[c] == len(named)
        assert same(found.in_tenth[c].sum(), len(named))
        last = plain.share(named, lambda i: i.named(condition) >= (i.row.n_steps or 0))
        assert same(found.last[0, c], last)
    shares = by_question(panel.reference, panel.verdicts[condition])
    for m, one in enumerate(items):
        for q, name in enumerate(panel.reference.questions):
            here = [i for i in one if i.row.question == name and i.valid(condition)]
            right = plain.share(here, lambda i: i.flag(condition) == bool(i.row.step))
            assert same(shares.right[m, q], right)
    assert (shares.split >= 0).all()
    assert (shares.split <= 0.25).all()


def test_a_step_fills_the_tenths_that_it_lies_in() -> None:
    whole = tenths_of(np.array([1]), np.array([1]))
    assert same(whole, np.full(10, 0.1))
    assert same(tenths_of(np.array([3]), np.array([10])), np.eye(10)[2])
    assert same(tenths_of(np.array([2]), np.array([4])), [0, 0, 0.2, 0.4, 0.4, 0, 0, 0, 0, 0])


@few
@given(monitors())
def test_bounds_hold_every_value_that_the_failed_verdicts_could_have_given(items: list[list[Item]]) -> None:
    condition, panel = condition_of(items), to_panel(items)
    verdicts = panel.verdicts[condition]
    everywhere = np.ones_like(verdicts.valid)
    least_most = rate_bounds(panel, condition, verdicts.monitors, everywhere)
    for m, one in enumerate(items):
        for cell, (least, most) in least_most.items():
            covered = [i for i in one if i.cell == cell and i.covered(condition)]
            failed = sum(not i.valid(condition) for i in covered)
            flags = sum(i.flag(condition) for i in covered)
            n = len(covered)
            assert same(least[m], flags / n if n else nan)
            assert same(most[m], (flags + failed) / n if n else nan)


def test_power_grows_with_questions_and_with_the_difference() -> None:
    rng = np.random.default_rng(1)
    sums = np.stack([rng.binomial(1, 0.5, 200), np.ones(200)]).astype(float)
    found = simulate_power(
        sums,
        lambda t: t[:, :1] / t[:, 1:],
        differences=(0.0, 0.1, 0.3),
        sizes=np.array([50, 200, 800]),
        studies=2000,
    )
    for place, n in enumerate(found.sizes):  # the spread of a mean of n draws
        assert abs(found.spread[place, 0] / (sums[0].std() / sqrt(n)) - 1) < 0.1
    assert (
        np.abs(found.power[:, 0, 0] - 0.05) < 0.02
    ).all()  # no difference: one interval in twenty misses 0
    assert (np.diff(found.power[:, 1, 0]) > 0).all()
    assert found.needed(2, 0) == 50
    assert found.needed(1, 0) == 200
    assert found.needed(0, 0) is None


def test_the_sizes_tried_hold_the_one_observed() -> None:
    for observed in (1, 79, 50_000):
        sizes = sizes_about(observed)
        assert observed in sizes
        assert (np.diff(sizes) > 0).all()


def test_an_arm_alone_makes_its_own_standard(shared: Path) -> None:
    reference = load_panel(shared / "release").reference
    alone, spoke = by_arm(reference, reference.human)
    assert spoke.sum() == 135
    assert (alone.step[spoke] == reference.human.step[spoke]).all()
    assert (alone.step[~spoke] == reference.step[~spoke]).all()
    apart = disputed(reference)
    assert not (apart & ~(reference.human.spoke & reference.debate.spoke)).any()
    assert (reference.human.step == reference.debate.step)[spoke & reference.debate.spoke & ~apart].all()
    assert same(positions_of_errors(reference).sum(), 107)


def test_self_review_meets_the_published_split_of_a_generator_that_monitors(shared: Path) -> None:
    """Gemini on its own traces and on others, as the released notebook prints them (complete release)."""
    panel = load_panel(shared / "release")
    name = "google_gemini-3.1-pro-preview"
    own = np.array([g.startswith("Gemini") for g in panel.reference.generators])
    marked = Panel(panel.reference, panel.verdicts, {"self_review": {name: own}})
    found = build_report(marked, Options(resamples=20, studies=0))["involvement"]["self_review"]
    assert found["monitors"] == {name: {"traces": 79, "error_traces": 32}}
    shown = {
        c: tuple(
            f"{found['conditions'][c]['monitors'][name][f'sensitivity_{part}']:.3f}"
            for part in ("of_these", "others")
        )
        for c in ("BLIND", "CERT")
    }
    assert shown == {"BLIND": ("0.719", "0.800"), "CERT": ("0.969", "0.880")}


def of_one_cell(correct: bool, before: int, after: int) -> list[Item]:
    """Ten traces with an error, so many of them flagged under BLIND and under CERT."""
    rows = [TraceRow(f"{'cw'[correct]}{k}", "A", final_correct=correct, step=1, n_steps=2) for k in range(10)]
    return [
        Item(row, {"BLIND": (int(k < before), 0, None, False), "CERT": (int(k < after), 0, None, False)})
        for k, row in enumerate(rows)
    ]


def test_changes_that_are_equal_but_for_rounding_are_no_difference_in_either_direction() -> None:
    """3/10 - 2/10 and 2/10 - 1/10 are not the same number of a computer."""
    assert (0.3 - 0.2) - (0.2 - 0.1) != 0
    more_on_wrong = of_one_cell(False, 1, 2) + of_one_cell(True, 2, 3)
    more_on_critical = of_one_cell(False, 2, 3) + of_one_cell(True, 1, 2)
    report = build_report(to_panel([more_on_wrong, more_on_critical]), POINTS)
    difference = report["contrasts"]["CERT-BLIND"]["difference"]
    assert (difference["positive"], difference["monitors"]) == (0, 2)
    assert difference["sign_test_p"] is None
    assert "other than 0" in difference["sign_test_p_reason"]
    for left in report["leave_one_out"].values():
        assert (left["CERT-BLIND"]["positive"], left["CERT-BLIND"]["monitors"]) == (0, 1)


def test_changes_are_of_monitors_that_have_both_sides() -> None:
    """A monitor that ran one condition, or wrote all traces, must not make a change by its absence."""
    rows = [
        TraceRow("q1", "A", True, None, 2),
        TraceRow("q2", "A", True, 1, 2),
        TraceRow("q3", "A", False, 2, 2),
    ]
    right = [
        Item(r, {c: (int(bool(r.step)), r.step or 0, None, False) for c in ("BLIND", "CERT")}) for r in rows
    ]
    never = [Item(r, {"BLIND": (0, 0, None, False)}) for r in rows]
    panel = to_panel([right, never])
    own = {"self_review": {"m1": np.ones(3, dtype=np.bool_)}}
    report = build_report(Panel(panel.reference, panel.verdicts, own), POINTS)
    subset = report["answer_correct_subset"]
    assert (subset["BLIND"], subset["CERT"], subset["CERT-BLIND"]) == (0.75, 1.0, 0.0)
    mean = report["involvement"]["self_review"]["conditions"]["BLIND"]["mean"]
    assert (mean["L0"], mean["L0_without"], mean["L0_change"]) == (0.5, 1.0, 0.0)


def test_parts_that_lie_in_few_questions_are_flagged(shared: Path) -> None:
    panel = load_panel(shared / "release")
    reference = panel.reference
    few, many = (np.flatnonzero(reference.critical & (reference.question % 5 == 0)), reference.critical)
    roles = ["substantive" if n in few else "robust" if many[n] else "" for n in range(reference.n_traces)]
    coded = Panel(replace(reference, roles=tuple(roles)), panel.verdicts)
    report = build_report(coded, POINTS)
    for role, section in report["critical_roles"].items():
        if role != "not_coded":
            here = {reference.question[n] for n in range(reference.n_traces) if roles[n] == role}
            assert (section["questions"], section["few_clusters"]) == (len(here), len(here) < 10)
    assert report["consensus_subset"]["few_clusters"] is False
    assert {c: row["questions"] for c, row in report["certificate"]["clusters"].items()} == {
        "CMATCH": 46,
        "CCONFLICT": 32,
    }
    warned = [w for w in report["warnings"] if w["kind"] == "few_clusters_in_part"]
    assert [list(w["parts"]) for w in warned] == [["critical traces with substantive errors"]]


def test_with_one_step_in_each_trace_skill_is_undefined_for_that_reason() -> None:
    arms = {"human_final_correct": False, "human_step": 1, "debate_final_correct": False, "debate_step": 1}
    rows = [TraceRow(f"q{k}", "A", final_correct=False, step=1, n_steps=1, **arms) for k in range(3)]  # type: ignore[arg-type]
    report = build_report(to_panel([[Item(row, {"BLIND": (1, 1, None, False)}) for row in rows]]), POINTS)
    placed = report["localisation"]["BLIND"]
    for section in (placed["mean"], placed["monitors"]["m0"]):
        assert (section["L0_chance"], section["L0_skill"]) == (1.0, None)
        assert "nothing to gain" in section["L0_skill_reason"]
    assert "one step" in report["arms"]["step_agreement_above_chance_reason"]


def test_a_contrast_without_a_pair_has_no_estimate_and_does_not_fail() -> None:
    row = TraceRow(question="q", label="A", final_correct=False, step=1, n_steps=2)
    panel = to_panel([[Item(row, {"CERT": (None, 0, None, False), "CMATCH": (1, 1, None, False)})]])
    section = build_report(panel, Options(resamples=B, studies=0))["certificate"]["CERT-CMATCH"]
    assert section["estimate"] is None
    assert section["estimate_reason"]
    assert not isnan(section["same_direction"])


def test_the_bounds_of_a_change_hold_its_estimate(shared: Path) -> None:
    report = build_report(load_panel(shared / "release"), Options(resamples=0, studies=0))
    held = [
        section[cell]
        for section in report["contrasts"].values()
        for cell in ("clean", "wrong", "critical")
        if "bounds" in section[cell]
    ]
    assert held
    for record in held:
        least, most = record["bounds"]
        assert least - 0.02 <= record["estimate"] <= most + 0.02  # other denominators: the covered traces


def test_the_reading_of_all_traces_is_the_report_itself(shared: Path) -> None:
    report = build_report(load_panel(shared / "release"), Options(resamples=30, studies=0))
    for condition, row in report["dependence"]["all"]["conditions"].items():
        detection, placed = report["detection"][condition], report["localisation"][condition]
        for name, section in (("balanced_accuracy", detection), ("L0", placed), ("L0_in_range", placed)):
            assert same(row["mean"][name], section["mean"][name])
            assert same(row["mean"][f"{name}_ci"], section["mean"][f"{name}_ci"])
            for monitor, record in row["monitors"].items():
                assert same(record[name], section["monitors"][monitor][name])
    human = report["by_arm"]["human"]
    assert (human["traces"], human["clean"] + human["wrong"] + human["critical"]) == (135, 135)
    for row in human["conditions"].values():
        assert same(row["change"]["L0"], row["mean"]["L0"] - row["standard"]["L0"])
