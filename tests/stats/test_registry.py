"""Every public statistic by its properties: a new one must be placed here, or a test fails."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import random
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stats
from stats.panel import Panel, Reference, TraceRow
from stats.report.comparing import _changes, _power_sums
from tests.stats.plain import Item, to_panel

B = 5
CONDITIONS = ("BLIND", "CERT", "REVISE", "CMATCH", "CCONFLICT")
# What is public and no statistic: shapes of data, the bootstrap itself, masks, documents.
NO_STATISTICS = {
    "Coefficient",
    "Options",
    "Panel",
    "Reference",
    "Resample",
    "StratifiedResample",
    "TraceRow",
    "Verdicts",
    "build_report",
    "by_arm",
    "code_version",
    "common_subset",
    "consensus_subset",
    "disputed",
    "interval",
}
# What the modules of stats/ share with each other and with other code: pieces of statistics, no statistics.
PIECES = {
    "answer_correct_accuracy",
    "auc_samples",
    "average_ranks",
    "binary_ac1",
    "binary_alpha",
    "binary_kappa",
    "binary_percent",
    "by_monitor",
    "chance_weights",
    "condition_pairs",
    "covered_subset",
    "cumulative",
    "degenerate_scores",
    "eligible",
    "empty_verdicts",
    "error_scores",
    "failures_within",
    "field_agreement",
    "flag_rates",
    "given",
    "hits",
    "judge_field",
    "ladder_monitors",
    "mean_defined",
    "modal",
    "panel_mean",
    "presence_of",
    "product",
    "published_effects",
    "put",
    "put_interval",
    "put_value",
    "rate_bounds",
    "ratio",
    "signs",
    "sizes_about",
    "step_agreement",
    "sum_by_cluster",
    "tenths_of",
    "transition_bounds",
    "unanimity",
    "usable_fields",
}
Values = dict[str, Any]


def fields(found: Any, *names: str) -> Values:
    return {name: getattr(found, name) for name in names}


def _arms(panel: Panel, resample: stats.Resample) -> Values:
    found = stats.arm_agreement(panel.reference, resample)
    shares = fields(found, "exact_step", "step_within_one", "chance_step")
    return shares | {f"answer_{n}": getattr(found.final_correct, n) for n in ("percent", "kappa", "ac1")}


def _ratings(panel: Panel) -> np.ndarray[Any, np.dtype[np.float64]]:
    arms = (panel.reference.human.final_correct, panel.reference.debate.final_correct)
    return np.where(np.stack(arms, axis=1) < 0, np.nan, np.stack(arms, axis=1).astype(float))


def _steps(panel: Panel) -> np.ndarray[Any, np.dtype[np.float64]]:
    arms = (panel.reference.human, panel.reference.debate)
    return np.stack([np.where(arm.spoke, arm.step, np.nan) for arm in arms], axis=1)


def _pairs(panel: Panel, _: stats.Resample) -> Values:
    pair = stats.annotator_pairs(_ratings(panel), _steps(panel))[0]
    yes = {f"answer_{name}": getattr(pair.final_correct, name).value for name in ("percent", "kappa", "ac1")}
    return yes | {name: getattr(pair, name).value for name in ("exact_step", "step_within_one")}


def _pilot(panel: Panel, _: stats.Resample) -> Values:
    found = stats.pilot_agreement(_ratings(panel), _steps(panel), {})
    alike = {name: getattr(found, name).value for name in ("exact_step", "step_within_one", "unanimous")}
    return alike | {f"answer_{n}": getattr(found.final_correct, n).value for n in ("percent", "alpha", "ac1")}


def _side_by_side(panel: Panel, resample: stats.Resample) -> Values:
    conditions = ("BLIND", "CERT", "CMATCH")
    return dict(stats.rates_side_by_side(panel, conditions, panel.reference.wrong, resample)[2])


def _located(panel: Panel, resample: stats.Resample) -> Values:
    within = stats.consensus_subset(panel) | panel.reference.critical
    return {"L0": stats.subset_localisation(panel, "BLIND", within, resample)}


def _ladder(panel: Panel, resample: stats.Resample) -> Values:
    return {
        f"{c}_{k}": v for c, cells in stats.climb(panel, resample).rates.items() for k, v in cells.items()
    }


def _contrast(panel: Panel, resample: stats.Resample) -> Values:
    found = stats.contrast(panel, stats.climb(panel, resample), "CERT", "BLIND", resample)
    return dict(found.change)


def _paired(panel: Panel, resample: stats.Resample) -> Values:
    within = panel.reference.wrong
    found = stats.paired(panel, "CERT", "CMATCH", within, resample, published_seed=21)
    return fields(found, "effect", "least", "most")


def _transitions(panel: Panel, resample: stats.Resample) -> Values:
    found = stats.transitions(panel.reference, panel.verdicts["REVISE"], resample)
    return {f"{cell}_{n}": getattr(one, n) for cell, one in found.items() for n in ("withdraw", "add")}


def _lengths(panel: Panel, _: stats.Resample) -> Values:
    reference = panel.reference
    lengths = [reference.n_steps[mask] for mask in (reference.wrong, reference.critical)]
    return {"p": stats.mann_whitney(*lengths).p}


def _power(panel: Panel, _: stats.Resample) -> Values:
    sums = _power_sums(panel, sorted(panel.monitors), "CERT", "BLIND")
    found = stats.simulate_power(
        sums,
        lambda totals: _changes(totals, len(panel.monitors)),
        differences=(0.1,),
        sizes=np.array([5]),
        studies=20,
    )
    return {"power": found.power}


def _of_blind(statistic: Callable[..., Any], *names: str) -> Callable[[Panel, stats.Resample], Values]:
    return lambda panel, resample: fields(
        statistic(panel.reference, panel.verdicts["BLIND"], resample), *names
    )


STATISTICS: dict[str, Callable[[Panel, stats.Resample], Values]] = {
    "adjusted": lambda p, r: {
        "over_a_quarter": stats.adjusted(p.reference.final_correct.mean(), 0.25),
    },
    "annotator_pairs": _pairs,
    "arm_agreement": _arms,
    "bounds": lambda p, r: fields(
        stats.bounds(p.reference, p.verdicts["BLIND"], failures_flag=True), "sensitivity", "balanced_accuracy"
    ),
    "by_question": lambda p, r: {"split": np.sort(stats.by_question(p.reference, p.verdicts["BLIND"]).split)},
    "calibrate": _of_blind(stats.calibrate, "brier", "gap", "brier_of_base_rate"),
    "climb": _ladder,
    "cohen_kappa": lambda p, r: {"kappa": stats.cohen_kappa(*_ratings(p).T).value},
    "contrast": _contrast,
    "crossed_correction": lambda p, r: {
        "share": stats.crossed_correction(p.reference, p.verdicts["BLIND"], r)
    },
    "effective_size": lambda p, r: {"n": stats.effective_size(p.reference.question, 0.5)},
    "grader_rates": _of_blind(
        stats.grader_rates, "alpha", "alpha_wrong", "alpha_critical", "beta", "accepted", "theta"
    ),
    "detect": _of_blind(
        stats.detect, "sensitivity", "specificity", "balanced_accuracy", "auc", "flag_rate", "parse_rate"
    ),
    "gwet_ac1": lambda p, r: {"ac1": stats.gwet_ac1(_ratings(p)).value},
    "interior_attribution": lambda p, r: fields(
        stats.interior_attribution(p, p.reference.clean, r), "share", "newly_share"
    ),
    "intraclass_correlation": lambda p, r: {
        "rho": stats.intraclass_correlation(p.reference.has_error.astype(float), p.reference.question)
    },
    "krippendorff_alpha": lambda p, r: {"alpha": stats.krippendorff_alpha(_ratings(p)).value},
    "localise": _of_blind(stats.localise, "L0", "L1", "L0_in_range", "L0_chance", "L1_chance"),
    "mann_whitney": _lengths,
    "median_when_passing": lambda p, r: {"median": stats.median_when_passing(p.verdicts["BLIND"])},
    "oracle": lambda p, r: fields(stats.oracle(p.reference, r), "sensitivity", "specificity"),
    "paired": _paired,
    "pairwise": _of_blind(stats.pairwise, "balanced_accuracy", "L0"),
    "percent_agreement": lambda p, r: {"percent": stats.percent_agreement(_ratings(p)).value},
    "pilot_agreement": _pilot,
    "positions": _of_blind(stats.positions, "last"),
    "positions_of_errors": lambda p, r: {"tenths": stats.positions_of_errors(p.reference)},
    "processbench": _of_blind(stats.processbench, "error_accuracy", "correct_accuracy", "harmonic_mean"),
    "rates_side_by_side": _side_by_side,
    "share_of": lambda p, r: fields(
        stats.share_of(int(p.reference.wrong.sum()), p.reference.n_traces), "share", "low", "high", "p_half"
    ),
    "sign_test": lambda p, r: {"p": stats.sign_test(int(p.reference.wrong.sum()), p.reference.n_traces)},
    "simulate_power": _power,
    "subset_localisation": _located,
    "suppressed_localisations": lambda p, r: fields(
        stats.suppressed_localisations(p, p.reference.wrong, r), "cert_share", "cmatch_share"
    ),
    "transitions": _transitions,
    "without_each": lambda p, r: {
        "L0": stats.without_each(stats.localise(p.reference, p.verdicts["BLIND"], r).L0)
    },
}
# Values from 0 to 1.
BOUNDED = {
    "bounds",
    "by_question",
    "calibrate",
    "climb",
    "detect",
    "grader_rates",
    "interior_attribution",
    "localise",
    "mann_whitney",
    "oracle",
    "percent_agreement",
    "positions",
    "processbench",
    "rates_side_by_side",
    "share_of",
    "sign_test",
    "simulate_power",
    "subset_localisation",
    "suppressed_localisations",
    "transitions",
    "without_each",
}
# Values from -1 to 1.
SIGNED = {
    "annotator_pairs",
    "arm_agreement",
    "cohen_kappa",
    "contrast",
    "gwet_ac1",
    "krippendorff_alpha",
    "paired",
    "pairwise",
    "pilot_agreement",
}
# Sizes, confidences, corrected shares, and a correlation by variances: with bounds of their own or none.
UNBOUNDED = {
    "adjusted",
    "crossed_correction",
    "effective_size",
    "intraclass_correlation",
    "median_when_passing",
    "positions_of_errors",
}
# The same when the two arms, or raters, are exchanged.
SYMMETRIC = {
    "annotator_pairs",
    "arm_agreement",
    "cohen_kappa",
    "gwet_ac1",
    "krippendorff_alpha",
    "percent_agreement",
    "pilot_agreement",
}
# They draw, or halve, questions in the order of their names, so other names for questions move them.
DRAWN_IN_ORDER = {"crossed_correction", "simulate_power"}


def test_every_public_statistic_is_listed_by_its_properties() -> None:
    assert set(STATISTICS) | NO_STATISTICS == set(stats.__all__)
    assert not set(STATISTICS) & NO_STATISTICS
    assert sorted(STATISTICS) == sorted([*BOUNDED, *SIGNED, *UNBOUNDED])
    assert set(STATISTICS) >= SYMMETRIC | DRAWN_IN_ORDER


def test_every_public_function_of_the_package_is_a_listed_statistic_or_a_piece() -> None:
    found = set()
    for module in pkgutil.iter_modules(stats.__path__):
        if module.name != "report":
            content = vars(importlib.import_module(f"stats.{module.name}"))
            found |= {
                name
                for name, value in content.items()
                if inspect.isfunction(value)
                and value.__module__ == f"stats.{module.name}"
                and not name.startswith("_")
            }
    assert found - set(stats.__all__) == PIECES


@pytest.mark.parametrize("name", sorted(set(STATISTICS) | {"by_arm", "common_subset", "interval"}))
def test_a_docstring_says_what_comes_out(name: str) -> None:
    """The class that comes out by its name, or the shape of an array; plain numbers need neither."""
    function = getattr(stats, name)
    returned = str(inspect.signature(function).return_annotation)
    said = inspect.getdoc(function) or ""
    classes = [
        word
        for word in re.findall(r"[A-Z]\w+", returned)
        if word not in ("Floats", "Ints", "Bools", "Reference", "None")
    ]
    assert all(f"`{word}`" in said or word == "Interval" for word in classes), (name, classes)
    if "Floats" in returned or "Bools" in returned:
        assert re.search(r"\((1 \+ B|n_\w+|10|\d)[,)]", said) or name == "adjusted", name


@st.composite
def panels(draw: st.DrawFn) -> list[list[Item]]:
    """Three monitors under five conditions, random with holes, from one drawn seed."""
    rnd = random.Random(draw(st.integers(0, 2**32)))
    rows = []
    for question in range(rnd.randint(2, 5)):
        for label in range(rnd.randint(1, 3)):
            n_steps = rnd.randint(1, 6)
            arms = [(rnd.random() < 0.5, rnd.choice([None, rnd.randint(1, n_steps)])) for _ in range(2)]
            rows.append(
                TraceRow(
                    question=f"q{question}",
                    label=f"Response {label}",
                    final_correct=rnd.random() < 0.6,
                    step=rnd.choice([None, rnd.randint(1, n_steps)]),
                    n_steps=n_steps,
                    human_final_correct=arms[0][0],
                    human_step=arms[0][1],
                    debate_final_correct=arms[1][0],
                    debate_step=arms[1][1],
                )
            )

    def verdict() -> tuple[int | None, int, float | None, bool]:
        said = rnd.choice([None, 0, 1, 1])
        return said, rnd.randint(0, 6), rnd.choice([None, 0.0, 30.0, 50.5, 100.0]), rnd.random() < 0.5

    return [
        [
            Item(row, {c: verdict() for c in CONDITIONS if n == 0 or rnd.random() < 0.9})
            for n, row in enumerate(rows)
        ]
        for _ in range(3)
    ]


def values_of(name: str, panel: Panel) -> Values:
    return STATISTICS[name](panel, stats.Resample(panel.reference.n_questions, resamples=B, seed=1))


def equal(first: Values, second: Values) -> bool:
    return first.keys() == second.keys() and all(
        np.allclose(first[k], second[k], rtol=1e-9, atol=1e-12, equal_nan=True) for k in first
    )


@pytest.mark.parametrize("name", sorted(STATISTICS))
@settings(max_examples=8, deadline=None)
@given(items=panels(), seed=st.integers(0, 99))
def test_a_statistic_keeps_its_bounds_and_does_not_see_the_order_of_rows(
    name: str, items: list[list[Item]], seed: int
) -> None:
    panel = to_panel(items)
    ours = values_of(name, panel)
    least = 0.0 if name in BOUNDED else -1.0 if name in SIGNED else -np.inf
    most = np.inf if name in UNBOUNDED else 1.0
    for value in ours.values():
        defined = np.asarray(value, dtype=float)[~np.isnan(np.asarray(value, dtype=float))]
        assert ((defined >= least - 1e-12) & (defined <= most + 1e-12)).all(), name
    shuffled = [random.Random(seed).sample(one, len(one)) for one in items]
    assert equal(ours, values_of(name, to_panel(shuffled)))
    # Other names in another order: a point is the same whatever a question is called.
    renamed = [
        [replace(i, row=replace(i.row, question=f"{9 - int(i.row.question[1:])}")) for i in one]
        for one in items
    ]
    if name not in DRAWN_IN_ORDER:
        there = values_of(name, to_panel(renamed))
        for key, value in ours.items():
            first, second = np.atleast_1d(value), np.atleast_1d(there[key])
            rows = slice(0, 1) if len(first) == B + 1 else slice(None)
            assert np.allclose(first[rows], second[rows], rtol=1e-9, atol=1e-12, equal_nan=True), name


@pytest.mark.parametrize("name", sorted(SYMMETRIC))
@settings(max_examples=8, deadline=None)
@given(items=panels())
def test_a_symmetric_statistic_is_the_same_when_the_arms_are_exchanged(
    name: str, items: list[list[Item]]
) -> None:
    panel = to_panel(items)
    reference = panel.reference
    other = replace(panel, reference=replace(reference, human=reference.debate, debate=reference.human))
    assert equal(values_of(name, panel), values_of(name, other))


def test_a_reference_refuses_a_trace_given_twice() -> None:
    row = TraceRow(question="q", label="A", final_correct=True, step=None, n_steps=3)
    with pytest.raises(ValueError, match="given twice"):
        Reference.from_rows([row, row])
