"""What must hold of every statistic, on random data with holes."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from math import isnan, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from stats.agreement import arm_agreement, cohen_kappa, gwet_ac1, krippendorff_alpha
from stats.bootstrap import Resample, interval, mean_defined
from stats.detection import auc_samples, detect, error_scores
from stats.ladder import climb, common_subset, contrast, flag_rates, ladder_monitors
from stats.localisation import localise
from stats.panel import CELLS, LADDER, Panel, Reference, TraceRow, Verdicts
from stats.report import Options, build_report
from stats.revision import transitions
from tests.stats import plain
from tests.stats.plain import Item, to_panel
from tests.stats.strategies import monitors, some_condition, trace_rows

B, SEED = 7, 3
few = settings(max_examples=60, deadline=None)
fewer = settings(max_examples=20, deadline=None)  # whole reports
QUICK = Options(resamples=B, studies=0)
POINTS = Options(resamples=0, studies=0)


def same(ours: Any, expected: Any) -> bool:
    """Equal to rounding, NaN equal to NaN."""
    return bool(np.allclose(ours, expected, rtol=1e-12, atol=1e-12, equal_nan=True))


def resample_of(panel: Panel) -> Resample:
    return Resample(panel.reference.n_questions, resamples=B, seed=SEED)


DETECTION = ("parse_rate", "flag_rate", "sensitivity", "specificity", "balanced_accuracy")


@few
@given(monitors())
def test_detection_equals_the_plain_version_in_point_and_resamples(items: list[list[Item]]) -> None:
    condition = some_condition(items)
    assume(condition is not None)
    assert condition is not None
    panel = to_panel(items)
    found = detect(panel.reference, panel.verdicts[condition], resample_of(panel))
    for name in DETECTION:
        statistic = getattr(plain, name)
        samples = getattr(found, name)
        assert same(samples[0], [statistic(one, condition) for one in items]), name
        boots = plain.bootstrap(items, lambda i, s=statistic: s(i, condition), resamples=B, seed=SEED)
        assert same(mean_defined(samples)[1:], boots), name


@few
@given(monitors())
def test_auc_equals_counting_pairs_in_point_and_resamples(items: list[list[Item]]) -> None:
    condition = some_condition(items)
    assume(condition is not None)
    assert condition is not None
    panel = to_panel(items)
    verdicts = panel.verdicts[condition]
    for m, one in enumerate(items):
        samples = auc_samples(
            panel.reference, error_scores(verdicts)[m], verdicts.valid[m], resample_of(panel)
        )
        assert same(samples[0], plain.auc(one, condition))
        assert same(
            samples[1:], plain.bootstrap([one], lambda i: plain.auc(i, condition), resamples=B, seed=SEED)
        )


@few
@given(monitors())
def test_localisation_equals_the_plain_version_in_point_and_resamples(items: list[list[Item]]) -> None:
    condition = some_condition(items)
    assume(condition is not None)
    assert condition is not None
    panel = to_panel(items)
    found = localise(panel.reference, panel.verdicts[condition], resample_of(panel))
    versions = {
        "L0": lambda i: plain.located(i, condition, 0),
        "L1": lambda i: plain.located(i, condition, 1),
        "L0_chance": lambda i: plain.chance(i, condition, 0),
        "L1_chance": lambda i: plain.chance(i, condition, 1),
    }
    for name, statistic in versions.items():
        samples = getattr(found, name)
        assert same(samples[0], [statistic(one) for one in items]), name
        boots = plain.bootstrap(items, statistic, resamples=B, seed=SEED)
        assert same(mean_defined(samples)[1:], boots), name
    pooled = [item for one in items for item in one]
    for where, samples in found.pooled.items():
        assert same(samples[0], plain.placed(pooled, condition, where)), where
        boots = plain.bootstrap(
            [pooled], lambda i, w=where: plain.placed(i, condition, w), resamples=B, seed=SEED
        )
        assert same(samples[1:], boots), where


@few
@given(monitors())
def test_recall_and_contrasts_equal_the_plain_versions(items: list[list[Item]]) -> None:
    panel = to_panel(items)
    names = ladder_monitors(panel)
    if not names:
        return
    common = common_subset(panel, names)
    rungs = [[c for c in panel.conditions(LADDER) if any(i.covered(c) for i in one)] for one in items]
    for condition in panel.conditions(LADDER):
        rates = flag_rates(panel, panel.verdicts[condition].of(names), common, resample_of(panel))
        for cell in CELLS:
            expected = [
                plain.recall(one, condition, cell, rungs[m]) if condition in rungs[m] else nan
                for m, one in enumerate(items)
            ]
            assert same(rates[cell][0], expected)
    if {"BLIND", "CERT"} <= set(panel.verdicts):
        found = contrast(panel, climb(panel, resample_of(panel)), "CERT", "BLIND", resample_of(panel))

        def gain(one: Any, m: int) -> float:
            if not {"BLIND", "CERT"} <= set(rungs[m]):
                return nan
            wrong, critical = (
                plain.recall(one, "CERT", cell, rungs[m]) - plain.recall(one, "BLIND", cell, rungs[m])
                for cell in ("wrong", "critical")
            )
            return wrong - critical

        assert same(found.difference[0], [gain(one, m) for m, one in enumerate(items)])
        for m, one in enumerate(items):
            boots = plain.bootstrap([one], lambda i, m=m: gain(i, m), resamples=B, seed=SEED)
            assert same(found.difference[1:, m], boots)


@few
@given(monitors())
def test_transitions_equal_the_plain_version(items: list[list[Item]]) -> None:
    panel = to_panel(items)
    assume("REVISE" in panel.verdicts)
    found = transitions(panel.reference, panel.verdicts["REVISE"], resample_of(panel))
    for cell in CELLS:
        assert same(found[cell].withdraw[0], [plain.withdraw(one, "REVISE", cell) for one in items])
        assert same(found[cell].add[0], [plain.add(one, "REVISE", cell) for one in items])


@few
@given(trace_rows())
def test_arm_agreement_equals_the_plain_version(rows: list[TraceRow]) -> None:
    reference = Reference.from_rows(rows)
    found = arm_agreement(reference, Resample(reference.n_questions, resamples=B, seed=SEED))
    joint = [r for r in rows if r.human_final_correct is not None and r.debate_final_correct is not None]
    answers = [(float(bool(r.human_final_correct)), float(bool(r.debate_final_correct))) for r in joint]
    presence = [(float(r.human_step is not None), float(r.debate_step is not None)) for r in joint]
    for binary, pairs in ((found.final_correct, answers), (found.error_presence, presence)):
        assert binary.n == len(joint) == found.joint
        assert same(binary.percent[0], np.mean([a == b for a, b in pairs]) if pairs else nan)
        assert same(binary.kappa[0], plain.kappa(pairs))
        assert same(binary.ac1[0], plain.ac1(pairs))
        assert same(binary.alpha[0], plain.alpha(pairs, lambda a, b: float(a != b)))
    both = [(r.human_step, r.debate_step, r.n_steps) for r in joint if r.human_step and r.debate_step]
    assert found.both_named_step == len(both)
    assert same(found.exact_step[0], np.mean([a == b for a, b, _ in both]) if both else nan)
    assert same(found.chance_step[0], np.mean([1 / (n or 0) for *_, n in both]) if both else nan)


@fewer
@given(trace_rows())
def test_arm_agreement_is_the_same_when_the_arms_are_exchanged(rows: list[TraceRow]) -> None:
    exchanged = [
        replace(
            row,
            human_final_correct=row.debate_final_correct,
            human_step=row.debate_step,
            debate_final_correct=row.human_final_correct,
            debate_step=row.human_step,
        )
        for row in rows
    ]
    said = [Item(row, {"BLIND": (n % 2, n % 3, 60.0, False)}) for n, row in enumerate(rows)]
    turned = [Item(row, item.said) for row, item in zip(exchanged, said, strict=True)]
    ours, theirs = (build_report(to_panel([items]), QUICK) for items in (said, turned))
    by_arm = [report.pop("by_arm", None) or {} for report in (ours, theirs)]
    assert close(theirs, ours)
    assert close(by_arm[0].get("human"), by_arm[1].get("debate"))  # kept from leads with open disputes


ratings = st.lists(
    st.lists(st.sampled_from([nan, 1.0, 2.0, 5.0]), min_size=3, max_size=3), min_size=0, max_size=6
)


@few
@given(ratings)
def test_coefficients_of_many_raters_equal_the_plain_versions(units: list[list[float]]) -> None:
    array = np.array(units, dtype=float).reshape(len(units), 3)
    given_values = [[value for value in unit if not isnan(value)] for unit in units]
    nominal = krippendorff_alpha(array)
    assert same(nominal.value, plain.alpha(given_values, lambda a, b: float(a != b)))
    distance = krippendorff_alpha(array, metric="interval")
    assert same(distance.value, plain.alpha(given_values, lambda a, b: (a - b) ** 2))
    pairs = [(u[0], u[1]) for u in units if not isnan(u[0]) and not isnan(u[1])]
    assert same(cohen_kappa(array[:, 0], array[:, 1]).value, plain.kappa(pairs))
    assert same(gwet_ac1(array[:, :2]).value, plain.ac1(pairs))
    for coefficient in (nominal, distance, gwet_ac1(array)):
        assert isnan(coefficient.value) == bool(coefficient.reason)


@fewer
@given(monitors(), st.randoms(use_true_random=False))
def test_order_of_traces_and_monitors_changes_nothing(items: list[list[Item]], rnd: random.Random) -> None:
    names = [f"m{number}" for number in range(len(items))]
    order = list(range(len(items)))
    rnd.shuffle(order)
    shuffled = []
    for m in order:
        traces = list(items[m])
        rnd.shuffle(traces)
        shuffled.append(traces)
    ours = build_report(to_panel(items, names), QUICK)
    theirs = build_report(to_panel(shuffled, [names[m] for m in order]), QUICK)
    assert close(ours, theirs)


def rounded(content: Any) -> Any:
    if isinstance(content, dict):
        return {name: rounded(content[name]) for name in sorted(content)}
    return round(content, 9)


def close(first: Any, second: Any) -> bool:
    """Whether two reports are equal, floats to rounding."""
    if isinstance(first, dict):
        if "by_question" in first:  # questions by name: their order among equals, and their names, may differ
            rows = [sorted(map(repr, map(rounded, d["by_question"].values()))) for d in (first, second)]
            return rows[0] == rows[1]
        return first.keys() == second.keys() and all(close(first[k], second[k]) for k in first)
    if isinstance(first, list):
        if first and isinstance(first[0], dict) and "text" in first[0]:
            return sorted(w["text"] for w in first) == sorted(w["text"] for w in second)
        return len(first) == len(second) and all(map(close, first, second))
    if isinstance(first, float):
        return bool(first == pytest.approx(second, rel=1e-9, abs=1e-12))
    return bool(first == second)


@fewer
@given(monitors())
def test_other_names_for_traces_change_nothing(items: list[list[Item]]) -> None:
    """Names that keep the order of questions keep the resamples; points do not depend even on that."""

    def renamed(item: Item, question: str, label: str) -> Item:
        return replace(item, row=replace(item.row, question=question, label=label))

    kept = [[renamed(i, f"x{i.row.question}", f"z{i.row.label}") for i in one] for one in items]
    assert close(
        build_report(to_panel(items), QUICK),
        build_report(to_panel(kept), QUICK),
    )
    backwards = [[renamed(i, f"{9 - int(i.row.question[1:])}", i.row.label) for i in one] for one in items]
    assert close(
        build_report(to_panel(items), POINTS),
        build_report(to_panel(backwards), POINTS),
    )


@fewer
@given(monitors())
def test_other_names_for_monitors_change_nothing(items: list[list[Item]]) -> None:
    """Also names that sort the other way round; only a pair is then told from its other side."""
    ours = build_report(to_panel(items), QUICK)
    theirs = build_report(to_panel(items, [f"z{9 - number}" for number in range(len(items))]), QUICK)
    renamed = json.loads(re.sub(r"\bm([0-2])(?=_re|\b)", lambda m: f"z{9 - int(m[1])}", json.dumps(ours)))
    for report in (renamed, theirs):
        report.pop("pairwise", None)
        report["monitors"].sort()
    assert close(renamed, theirs)


@few
@given(monitors())
def test_rows_given_twice_change_nothing(items: list[list[Item]]) -> None:
    condition = some_condition(items)
    assume(condition is not None)
    assert condition is not None
    once = to_panel(items).verdicts[condition]
    m, t = np.nonzero(once.covered)
    said = np.where(once.valid, once.flag.astype(int), -1)[m, t]
    columns = {
        "monitor": m,
        "trace": t,
        "has_error": said,
        "step": once.step[m, t],
        "confidence": once.confidence[m, t],
        "prior_flag": once.prior_flag[m, t],
    }
    twice = Verdicts.from_columns(
        once.monitors,
        once.covered.shape[1],
        **{name: np.concatenate([column, column]) for name, column in columns.items()},  # type: ignore[arg-type]
    )
    for name in ("covered", "valid", "flag", "step", "prior_flag"):
        assert (getattr(once, name) == getattr(twice, name)).all()


@fewer
@given(trace_rows())
def test_a_monitor_equal_to_the_standard_scores_one(rows: list[TraceRow]) -> None:
    assume(any(row.step for row in rows) and not all(row.step for row in rows))
    perfect = [
        Item(row, {"BLIND": (int(row.step is not None), row.step or 0, 100.0 if row.step else 0.0, False)})
        for row in rows
    ]
    found = build_report(to_panel([perfect]), QUICK)
    judged = found["detection"]["BLIND"]["monitors"]["m0"]
    placed = found["localisation"]["BLIND"]["monitors"]["m0"]
    assert [judged[name] for name in DETECTION if name != "flag_rate"] == [1.0, 1.0, 1.0, 1.0]
    assert judged["balanced_accuracy_ci"] == [1.0, 1.0] or "balanced_accuracy_ci_reason" in judged
    assert (placed["L0"], placed["L1"], placed["early"], placed["late"], placed["missed"]) == (
        1.0,
        1.0,
        0,
        0,
        0,
    )


@few
@given(monitors())
def test_exchanging_positive_and_negative_exchanges_sensitivity_and_specificity(
    items: list[list[Item]],
) -> None:
    condition = some_condition(items)
    assume(condition is not None)
    assert condition is not None

    def exchanged(item: Item) -> Item:
        said = {
            c: (None if s is None else 1 - s, k, None if f is None else 100 - f, p)
            for c, (s, k, f, p) in item.said.items()
        }
        return Item(replace(item.row, step=None if item.row.step else 1), said)

    panel, other = to_panel(items), to_panel([[exchanged(item) for item in one] for one in items])
    ours = detect(panel.reference, panel.verdicts[condition], resample_of(panel))
    theirs = detect(other.reference, other.verdicts[condition], resample_of(other))
    assert same(ours.sensitivity, theirs.specificity)
    assert same(ours.specificity, theirs.sensitivity)
    assert same(ours.balanced_accuracy, theirs.balanced_accuracy)
    assert same(ours.auc, theirs.auc)


@fewer
@given(monitors())
def test_every_undefined_number_says_why(items: list[list[Item]]) -> None:
    def walk(content: Any) -> None:
        if isinstance(content, dict):
            for name, value in content.items():
                assert value is not None or content.get(f"{name}_reason"), name
                assert value == value, name
                walk(value)
        elif isinstance(content, list):
            for value in content:
                walk(value)

    walk(build_report(to_panel(items), QUICK))


@pytest.mark.parametrize("clusters", [1, 2, 79, 1000])
def test_a_resample_is_one_draw_of_integers_whatever_its_blocks(clusters: int) -> None:
    drawn = np.random.default_rng(5).integers(0, clusters, size=(50, clusters))
    expected = np.stack([np.bincount(row, minlength=clusters) for row in drawn])
    whole = Resample(clusters, resamples=50, seed=5)
    cut = Resample(clusters, resamples=50, seed=5)
    cut._block = 7
    cut._counts = None  # drawn anew for each statistic, as when too many to keep
    for resample in (whole, cut):
        assert (np.concatenate([block.T for block in resample.counts()]) == expected).all()
        totals = resample.totals(np.arange(clusters, dtype=float)[None])
        assert same(totals[1:, 0], expected @ np.arange(clusters))
        assert totals[0, 0] == np.arange(clusters).sum()


def test_an_interval_leaves_undefined_resamples_out_and_counts_the_rest() -> None:
    found = interval(np.array([nan, 1.0, 2.0, 3.0, nan]))
    assert found is not None
    assert (found.low, found.high, found.defined) == (1.05, 2.95, 3)
    assert interval(np.array([nan, nan])) is None
