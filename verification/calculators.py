"""The calculators of grading error: formulas in words and signs, their fields, and what they give."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from verification import grading


@dataclass(frozen=True)
class Field:
    """One number to enter; whole ones are counts."""

    name: str
    label: str
    example: str
    whole: bool = False


@dataclass(frozen=True)
class Calculator:
    """A formula with its domain and fields; `compute` returns labelled results or raises OutsideDomain."""

    key: str
    title: str
    formula: str
    domain: str
    fields: Sequence[Field]
    compute: Callable[[Mapping[str, Any]], list[tuple[str, str]]]


def shown(value: float) -> str:
    """Return a number with six significant digits."""
    return f"{value:.6g}"


def _observed(given: Mapping[str, Any]) -> list[tuple[str, str]]:
    first = (given["theta_a"], given["alpha_a"], given["beta_a"])
    second = (given["theta_b"], given["alpha_b"], given["beta_b"])
    reversed_ = grading.is_reversed(first, second)
    return [
        ("observed score of A", shown(grading.observed_score(*first))),
        ("observed score of B", shown(grading.observed_score(*second))),
        ("the ranking is", "reversed" if reversed_ else "not reversed"),
    ]


def _corrected(given: Mapping[str, Any]) -> list[tuple[str, str]]:
    alpha, beta = given["alpha"], given["beta"]
    return [
        ("corrected score", shown(grading.corrected_score(given["observed"], alpha, beta))),
        ("its variance is multiplied by", shown(grading.variance_factor(alpha, beta))),
    ]


def _shift(given: Mapping[str, Any]) -> list[tuple[str, str]]:
    shift = grading.gradient_shift(given["p"], given["alpha"], given["beta"])
    towards = (
        "flawed work is rewarded" if shift > 0 else "valid work is penalised" if shift < 0 else "no shift"
    )
    return [("shift of the target", shown(shift)), ("direction", towards)]


def _sample(given: Mapping[str, Any]) -> list[tuple[str, str]]:
    size = grading.effective_sample_size(given["families"], given["per_family"], given["rho"])
    return [("effective sample size", shown(size)), ("of", str(given["families"] * given["per_family"]))]


def _pays(given: Mapping[str, Any]) -> list[tuple[str, str]]:
    number = grading.break_even(given["fixed"], given["unresolved"], given["expert"], given["check"])
    return [("checking pays from so many submissions on", shown(number))]


def _rates(side: str) -> list[Field]:
    example = {"a": ("0.72", "0.04"), "b": ("0.64", "0.36")}[side]
    name = side.upper()
    return [
        Field(f"theta_{side}", f"θ of {name}: truly valid", example[0]),
        Field(f"alpha_{side}", f"α of {name}: invalid, accepted", example[1]),
        Field(f"beta_{side}", f"β of {name}: valid, rejected", "0"),
    ]


CALCULATORS = (
    Calculator(
        "observed",
        "Observed against true validity",
        r"$$s = (1 - \beta)\,\theta + \alpha\,(1 - \theta)$$",
        "All rates lie between 0 and 1. Two systems whose graders differ can be ranked the wrong way round.",
        [*_rates("a"), *_rates("b")],
        _observed,
    ),
    Calculator(
        "shift",
        "Shift of a training target",
        r"$$\tilde p - p = \alpha\,(1 - p) - \beta\,p$$",
        "All rates lie between 0 and 1; p is the chance that a step is valid.",
        [Field("p", "p", "0.8"), Field("alpha", "α", "0.1"), Field("beta", "β", "0.2")],
        _shift,
    ),
    Calculator(
        "corrected",
        "Noise correction",
        r"$$\hat p = \frac{V - \alpha}{1 - \alpha - \beta}, \qquad "
        r"\operatorname{Var} \text{ times } \frac{1}{(1 - \alpha - \beta)^2}$$",
        "α and β are known constants with α + β below 1; otherwise the grader tells nothing apart.",
        [
            Field("observed", "V: observed score", "0.7312"),
            Field("alpha", "α", "0.04"),
            Field("beta", "β", "0"),
        ],
        _corrected,
    ),
    Calculator(
        "sample",
        "Effective sample size",
        r"$$n_{\text{eff}} = \frac{F K}{1 + (K - 1)\,\rho}$$",
        "F families of K variants each, at least one of both; ρ between 0 and 1 is the correlation within a family.",
        [
            Field("families", "F: families", "50", whole=True),
            Field("per_family", "K: variants of each", "8", whole=True),
            Field("rho", "ρ", "0.6"),
        ],
        _sample,
    ),
    Calculator(
        "pays",
        "When checking certificates pays",
        r"$$N^* = \frac{C_0}{(1 - u)\,c_e - c_v}$$",
        "Costs are not negative, u lies between 0 and 1, and the denominator must be positive: else it never pays.",
        [
            Field("fixed", "C₀: cost of setting it up", "20000"),
            Field("unresolved", "u: share left to experts", "0.2"),
            Field("expert", "cₑ: an expert's review", "40"),
            Field("check", "cᵥ: one check", "0.5"),
        ],
        _pays,
    ),
)
MAX_FAMILIES = 100_000


@dataclass(frozen=True)
class Answer:
    """A calculator with what was entered, and its results or what is wrong."""

    calculator: Calculator
    entered: Sequence[tuple[Field, str]]
    results: Sequence[tuple[str, str]] = ()
    problem: str = ""


def answer(calculator: Calculator, data: Mapping[str, str]) -> Answer:
    """Compute with what was entered as texts; a problem names the quantity and its domain."""
    entered = [(one, data.get(one.name, "").strip()) for one in calculator.fields]
    given: dict[str, Any] = {}
    for one, text in entered:
        try:
            given[one.name] = int(text) if one.whole else float(text)
        except ValueError:
            kind = "a whole number" if one.whole else "a number"
            return Answer(calculator, entered, problem=f"{one.label} must be {kind}")
        if one.whole and abs(given[one.name]) > 10**9:
            return Answer(calculator, entered, problem=f"{one.label} is too large")
    try:
        return Answer(calculator, entered, results=calculator.compute(given))
    except grading.OutsideDomain as error:
        return Answer(calculator, entered, problem=str(error))


def split_answer(train: str, test: str) -> tuple[str, str]:
    """Return (what is right, "") or ("", what is wrong) of a split given as families, one a line."""
    sides = [[line.strip() for line in text.splitlines() if line.strip()] for text in (train, test)]
    if any(len(side) > MAX_FAMILIES for side in sides):
        return "", f"more than {MAX_FAMILIES} families on one side"
    try:
        grading.check_split(*sides)
    except grading.OutsideDomain as error:
        return "", str(error)
    return f"{len(set(sides[0]))} families here, {len(set(sides[1]))} there, none on both sides", ""
