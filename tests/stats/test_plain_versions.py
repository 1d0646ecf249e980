"""Certificates, oracle, bounds, ranges, ranks: the array versions beside plain ones on random data with holes."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import comb, nan
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import stats
from stats.bootstrap import mean_defined
from stats.ladder import answer_correct_accuracy
from stats.lengths import average_ranks
from stats.panel import Panel
from stats.report import build_report
from stats.revision import transition_bounds
from tests.stats import plain
from tests.stats.plain import Item, to_panel
from tests.stats.release import load_panel
from tests.stats.test_properties import POINTS, SEED, B, same
from tests.stats.test_registry import panels

few = settings(max_examples=25, deadline=None)


def resample_of(panel: Panel) -> stats.Resample:
    return stats.Resample(panel.reference.n_questions, resamples=B, seed=SEED)


def targets(items: list[list[Item]], condition: str, cell: str) -> set[tuple[str, str]]:
    """Traces of a cell that any monitor was given under a false certificate."""
    return {
        (i.row.question, i.row.label) for one in items for i in one if i.covered(condition) and i.cell == cell
    }


def inside(one: list[Item], keys: set[tuple[str, str]]) -> list[Item]:
    return [i for i in one if (i.row.question, i.row.label) in keys]


def mask_of(panel: Panel, keys: set[tuple[str, str]]) -> Any:
    return np.array([key in keys for key in panel.reference.keys], dtype=np.bool_)


@few
@given(panels())
def test_paired_effects_of_certificates_equal_the_plain_version(items: list[list[Item]]) -> None:
    panel = to_panel(items)
    for later, earlier, swap, seed in stats.certificate.CONTRASTS:
        if not {later, earlier} <= set(panel.verdicts):
            continue
        keys = targets(items, swap, stats.certificate.TARGETS[swap])
        found = stats.paired(
            panel, later, earlier, mask_of(panel, keys), resample_of(panel), published_seed=seed
        )

        def effect(one: Any, later: str = later, earlier: str = earlier) -> float:
            both = [i for i in one if i.valid(later) and i.valid(earlier)]
            return sum(i.flag(later) - i.flag(earlier) for i in both) / len(both) if both else nan

        chosen = [inside(one, keys) for one in items]
        assert same(found.effect[0], [effect(one) for one in chosen])
        for m, one in enumerate(items):
            boots = plain.bootstrap(
                [one], lambda i, k=keys, e=effect: e(inside(list(i), k)), resamples=B, seed=SEED
            )
            assert same(found.effect[1:, m], boots)
            pairs = [i for i in chosen[m] if i.valid(later) and i.valid(earlier)]
            assert found.n[m] == len(pairs)
            assert found.gained[m] == sum(i.flag(later) and not i.flag(earlier) for i in pairs)
            assert found.lost[m] == sum(i.flag(earlier) and not i.flag(later) for i in pairs)
            covered = [i for i in chosen[m] if i.covered(later) and i.covered(earlier)]
            changes = [_changes(i, later, earlier) for i in covered]
            assert same(found.least[m], sum(min(c) for c in changes) / len(covered) if covered else nan)
            assert same(found.most[m], sum(max(c) for c in changes) / len(covered) if covered else nan)


def test_the_published_interval_of_one_monitor_draws_its_own_pairs_questions(shared: Path) -> None:
    """Five thousand times, by choice, from a generator of its own (SPEC.md 15.3)."""
    panel = load_panel(shared / "release")
    report = build_report(panel, stats.Options(convention="published", studies=0))
    name = "google_gemini-3.1-pro-preview"
    targets = stats.certificate.eligible(panel, "CCONFLICT")
    after, before = (panel.verdicts[c].of([name]) for c in ("CCONFLICT", "CERT"))
    pairs = np.flatnonzero(after.valid[0] & before.valid[0] & targets)
    by_question: dict[int, list[int]] = {}
    for t in pairs:
        change = int(after.flag[0, t]) - int(before.flag[0, t])
        by_question.setdefault(int(panel.reference.question[t]), []).append(change)
    groups = [by_question[q] for q in sorted(by_question)]
    rng = np.random.default_rng(13)
    means = []
    for _ in range(5000):
        drawn = [change for q in rng.choice(len(groups), size=len(groups)) for change in groups[q]]
        means.append(sum(drawn) / len(drawn))
    row = report["certificate"]["CCONFLICT-CERT"]["monitors"][name]
    assert row["n"] == len(pairs) == 49
    assert same(row["ci"], np.percentile(means, [2.5, 97.5]))


def _changes(item: Item, later: str, earlier: str) -> list[int]:
    """Every change that a covered pair could be, a failed verdict being a flag or a pass."""
    could = [[item.flag(c)] if item.valid(c) else [False, True] for c in (later, earlier)]
    return [after - before for after, before in product(*could)]


@few
@given(panels())
def test_suppressed_and_interior_cases_equal_the_plain_versions(items: list[list[Item]]) -> None:
    panel = to_panel(items)
    said = set(panel.verdicts)
    if {"BLIND", "CERT", "CMATCH"} <= said:
        keys = targets(items, "CMATCH", "wrong")
        found = stats.suppressed_localisations(panel, mask_of(panel, keys), resample_of(panel))
        cases = [
            i
            for one in items
            for i in inside(one, keys)
            if i.named("BLIND") == i.row.step and i.valid("CERT") and i.valid("CMATCH")
        ]
        assert found.cases.sum() == len(cases)
        assert same(found.cert_share[0], plain.share(cases, lambda i: not i.flag("CERT")))
        assert same(found.cmatch_share[0], plain.share(cases, lambda i: not i.flag("CMATCH")))
    if "CCONFLICT" in said:
        keys = targets(items, "CCONFLICT", "clean")
        interior = stats.interior_attribution(panel, mask_of(panel, keys), resample_of(panel))
        flags = [i for one in items for i in inside(one, keys) if i.flag("CCONFLICT")]
        newly = [i for i in flags if i.valid("CERT") and not i.flag("CERT")]
        for share, some in ((interior.share, flags), (interior.newly_share, newly)):
            assert same(share[0], plain.share(some, lambda i: i.named("CCONFLICT") != i.row.n_steps))


@few
@given(panels())
def test_oracle_bounds_and_ranges_equal_the_plain_versions(items: list[list[Item]]) -> None:
    panel = to_panel(items)
    oracle = stats.oracle(panel.reference, resample_of(panel))
    truth = [Item(i.row, {"BLIND": (int(not i.row.final_correct), 0, None, False)}) for i in items[0]]
    assert same(oracle.sensitivity[0], plain.sensitivity(truth, "BLIND"))
    assert same(oracle.specificity[0], plain.specificity(truth, "BLIND"))
    boots = plain.bootstrap([truth], lambda i: plain.balanced_accuracy(i, "BLIND"), resamples=B, seed=SEED)
    assert same(oracle.balanced_accuracy[1:], boots)
    for condition, verdicts in panel.verdicts.items():
        for flags in (0, 1):
            found = stats.bounds(panel.reference, verdicts, failures_flag=bool(flags))
            for m, one in enumerate(items):
                filled = [_filled(i, condition, flags) for i in one]
                for name in ("flag_rate", "sensitivity", "specificity", "balanced_accuracy"):
                    assert same(getattr(found, name)[m], getattr(plain, name)(filled, condition)), name
        placed = stats.localise(panel.reference, verdicts, resample_of(panel))
        for m, one in enumerate(items):
            errors = [i for i in one if i.row.step and i.valid(condition)]
            hits = plain.share(errors, lambda i, c=condition: i.named(c) == i.row.step)
            assert same(placed.L0_valid_only[0, m], hits)
            assert placed.no_step[m] == sum(i.flag(condition) and not i.named(condition) for i in errors)


def _filled(item: Item, condition: str, flag: int) -> Item:
    """The item with a failed verdict of the condition taken for a flag (1) or a pass (0)."""
    if not item.covered(condition) or item.valid(condition):
        return item
    return Item(item.row, item.said | {condition: (flag, 0, None, item.said[condition][3])})


@few
@given(panels())
def test_the_answer_correct_subset_and_the_consensus_equal_the_plain_versions(
    items: list[list[Item]],
) -> None:
    panel = to_panel(items)
    rungs = [
        [c for c in panel.conditions(stats.panel.LADDER) if any(i.covered(c) for i in one)] for one in items
    ]
    rates = stats.climb(panel, resample_of(panel)).rates
    agreed = [i for i in items[0] if i.row.step and i.row.human_step == i.row.debate_step == i.row.step]
    keys = {(i.row.question, i.row.label) for i in agreed}
    assert stats.consensus_subset(panel).sum() == len(keys)
    for condition in panel.conditions(stats.panel.LADDER):
        expected = [
            (
                plain.recall(one, condition, "critical", rungs[m])
                + 1
                - plain.recall(one, condition, "clean", rungs[m])
            )
            / 2
            if condition in rungs[m]
            else nan
            for m, one in enumerate(items)
        ]
        accuracy = answer_correct_accuracy(rates[condition])
        assert same(accuracy[0], expected)
        defined = [value for value in expected if value == value]
        assert same(mean_defined(accuracy)[0], np.mean(defined) if defined else nan)
        placed = stats.subset_localisation(
            panel, condition, stats.consensus_subset(panel), resample_of(panel)
        )
        assert same(placed[0], [plain.located(inside(one, keys), condition, 0) for one in items])


@few
@given(panels())
def test_recall_by_role_equals_the_plain_version(items: list[list[Item]]) -> None:
    kinds = {"Response 0": "substantive", "Response 1": "robust"}
    coded = [[replace(i, row=replace(i.row, role=kinds.get(i.row.label, ""))) for i in one] for one in items]
    panel = to_panel(coded)
    rungs = [
        [c for c in panel.conditions(stats.panel.LADDER) if any(i.covered(c) for i in one)] for one in coded
    ]
    for role, row in build_report(panel, POINTS).get("critical_roles", {}).items():
        if role == "not_coded":
            continue
        assert row["n"] == sum(i.row.role == role and i.cell == "critical" for i in coded[0])
        for condition in panel.conditions(stats.panel.LADDER):
            values = [
                plain.recall([i for i in one if i.row.role == role], condition, "critical", rungs[m])
                for m, one in enumerate(coded)
                if condition in rungs[m]
            ]
            defined = [value for value in values if value == value]
            found = nan if row[condition] is None else row[condition]
            assert same(found, np.mean(defined) if defined else nan)


sample = st.lists(st.integers(1, 6), min_size=1, max_size=12)


@few
@given(sample, sample)
def test_the_rank_test_counts_pairs_and_ties_by_halves(first: list[int], second: list[int]) -> None:
    found = stats.mann_whitney(np.array(first), np.array(second))
    assert same(found.u, sum((a > b) + (a == b) / 2 for a, b in product(first, second)))
    other = stats.mann_whitney(np.array(second), np.array(first))
    assert same((other.z, other.p), (-found.z, found.p))
    ranks = average_ranks(np.array(first))
    assert same(ranks, [sum(b < a for b in first) + (first.count(a) + 1) / 2 for a in first])


@few
@given(st.integers(1, 14), st.data())
def test_the_sign_test_adds_up_all_outcomes_at_least_as_uneven(n: int, data: st.DataObject) -> None:
    positive = data.draw(st.integers(0, n))
    uneven = [k for k in range(n + 1) if abs(2 * k - n) >= abs(2 * positive - n)]
    assert same(stats.sign_test(positive, n), min(1.0, sum(comb(n, k) for k in uneven) / 2**n))


@few
@given(panels())
def test_bounds_of_second_looks_hold_every_reading_of_the_failed_verdicts(items: list[list[Item]]) -> None:
    panel = to_panel(items)
    if "REVISE" not in panel.verdicts:
        return
    bounds = transition_bounds(panel.reference, panel.verdicts["REVISE"])
    for m, one in enumerate(items):
        readings = [[_filled(i, "REVISE", flag) for i in one] for flag in (0, 1)]
        for cell in stats.panel.CELLS:
            withdrawn = sorted(plain.withdraw(reading, "REVISE", cell) for reading in readings)
            added = sorted(plain.add(reading, "REVISE", cell) for reading in readings)
            assert same(bounds[cell].withdraw[:, m], withdrawn)
            assert same(bounds[cell].add[:, m], added)


@few
@given(panels())
def test_where_verdicts_failed_the_paper_s_figures_stand_between_their_bounds(
    items: list[list[Item]],
) -> None:
    """With one monitor and one condition nothing else is left out, so a number lies between what it could be."""
    one = [Item(i.row, {"BLIND": i.said["BLIND"]}) for i in items[0] if "BLIND" in i.said]
    report = build_report(to_panel([one]), POINTS)
    if not any(not i.valid("BLIND") for i in one):
        assert "BLIND_bounds" not in report.get("answer_correct_subset", {})
        return
    section = report["answer_correct_subset"]
    expected = {}
    for name, flag in (("failures_as_passes", 0), ("failures_as_flags", 1)):
        filled = [_filled(i, "BLIND", flag) for i in one]
        recall = plain.recall(filled, "BLIND", "critical", ["BLIND"])
        expected[name] = (recall + 1 - plain.recall(filled, "BLIND", "clean", ["BLIND"])) / 2
        auc = report["detection"]["BLIND"]["monitors"]["m0"]["bounds"][name].get("auc")
        scored = [
            Item(i.row, i.said | ({} if i.valid("BLIND") else {"BLIND": (flag, 0, None, False)})) for i in one
        ]
        if auc is not None:
            assert same(auc, plain.auc(scored, "BLIND"))
    found = section["BLIND_bounds"]
    assert same([nan if found[name] is None else found[name] for name in expected], list(expected.values()))
    consensus = report["consensus_subset"]
    if "BLIND_bounds" in consensus:
        least, most = consensus["BLIND_bounds"]
        assert least == consensus["BLIND"] < most <= 1
