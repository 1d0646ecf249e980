"""The sample study is right as physics: by calculation, not by reading."""

from __future__ import annotations

import math
import re

import pytest

from tests.examples import physics
from tests.examples.arithmetic import evaluate, numeric_equalities, printed_number
from tests.examples.numbers_claimed import NUMBERS
from tests.examples.relations_claimed import FALSE_STEPS, RELATIONS
from tests.examples.sample import Key, cell, read_lines, standard, traces

TRACES = traces()
STANDARD = standard()
ANSWERS = physics.answers()
ERRORS = {key: step for key, (_, step) in STANDARD.items() if step is not None}


def numbers_in(text: str) -> list[tuple[float, float]]:
    """Return (value, half a unit of the last digit) of each number of a formula."""
    found = re.findall(r"[+-]?\s*\d+(?:\.\d+)?(?:\s*\\times\s*10\^\{-?\d+\})?", text)
    return [number for number in map(printed_number, found) if number]


def shows(text: str, value: float) -> bool:
    """Return whether a number of the text is the value rounded to its digits."""
    return any(abs(number - value) <= half * 1.000001 for number, half in numbers_in(text))


def box_of(steps: list[str]) -> str:
    assert [r"\boxed" in step for step in steps].count(True) == 1
    return steps[-1].split(r"\boxed", 1)[1]


@pytest.mark.parametrize("key", TRACES, ids="/".join)
def test_the_boxed_answer_is_right_exactly_when_the_standard_says_so(key: Key) -> None:
    box = box_of(TRACES[key])
    right = all(shows(box, value) for value in ANSWERS[key[0]])
    if key[0] == "optics-lenses":
        right = right and "right" in box and "real" in box
    assert right == STANDARD[key][0]


def test_the_reference_answers_are_right_once_corrected() -> None:
    references = {row["question_id"]: row["reference_answer"] for row in read_lines("questions.jsonl")}
    corrections = {
        row["question_id"]: row["corrected_answer"]["text"]
        for row in read_lines("decisions.jsonl")
        if "corrected_answer" in row
    }
    assert corrections.keys() == {"em-coax", "optics-lenses"}
    for question, reference in references.items():
        values = ANSWERS[question]
        assert all(shows(reference, value) for value in values) == (question not in corrections)
    for question, text in corrections.items():
        assert all(shows(text, value) for value in ANSWERS[question])


@pytest.mark.parametrize("key", NUMBERS, ids="/".join)
def test_the_numbers_before_the_first_false_step_are_the_computed_ones(key: Key) -> None:
    for step, printed, value in NUMBERS[key]:
        if key in ERRORS and step >= ERRORS[key]:
            assert STANDARD[key][0], "after the error of a wrong trace nothing is claimed"
        assert printed in TRACES[key][step - 1], (step, printed)
        number = printed_number(printed)
        assert number is not None
        assert abs(number[0] - value) <= number[1] * 1.000001, (step, printed, value)


@pytest.mark.parametrize("key", RELATIONS, ids="/".join)
def test_the_formulas_hold_at_sample_values(key: Key) -> None:
    for step, left, right in RELATIONS[key]:
        assert step <= len(TRACES[key])
        assert step != ERRORS.get(key) or key == ("optics-film", "A")  # its step 4 has true parts too
        assert math.isclose(left, right, rel_tol=1e-5, abs_tol=1e-9), (step, left, right)


def test_each_error_is_false_and_stands_at_the_step_of_the_standard() -> None:
    assert FALSE_STEPS.keys() == ERRORS.keys()
    for key, (step, words, claimed, true) in FALSE_STEPS.items():
        assert step == ERRORS[key], key
        assert words in TRACES[key][step - 1], key
        assert not math.isclose(claimed, true, rel_tol=5e-3), (key, claimed, true)


def test_every_printed_equality_holds_but_the_four_false_ones() -> None:
    """Each equality between numbers, in all 42 traces, later steps of wrong traces too."""
    false = set()
    counted = 0
    for key, steps in TRACES.items():
        for number, step in enumerate(steps, 1):
            for text, holds in numeric_equalities(step):
                counted += 1
                if not holds:
                    false.add((key, number))
                    assert number == ERRORS.get(key), text
    assert counted >= 300
    assert false == {
        (("mech-drag", "B"), 31),
        (("thermo-ice", "B"), 6),
        (("stat-schottky", "B"), 11),
        (("rel-rocket", "B"), 8),
    }


@pytest.mark.parametrize(
    ("formula", "holds"),
    [
        (r"$\frac{1}{3}\approx 0.333$", True),
        (r"$\frac{1}{3}\approx 0.334$", False),
        (r"$2+2=4.0$", True),
        (r"$2+2=4.1$", False),
        (r"$0.1+0.2=0.3$", True),
        (r"$2^3\times 10^{-2}\ \mathrm{m^2}=0.08\ \mathrm{m^2}$", True),
        (r"$\tfrac12\left(3-1\right)=1$", True),
        (r"$\ln 4\approx 1.3863$", True),
        (r"$-\sqrt{16}=4$", False),
        (r"$$3<2$$", False),
    ],
)
def test_the_finder_of_false_equalities_can_tell(formula: str, holds: bool) -> None:
    assert [verdict for _, verdict in numeric_equalities(formula)] == [holds]


def test_arithmetic_is_evaluated_in_the_usual_order() -> None:
    assert evaluate(r"9.8-0.02\times 3^2") == pytest.approx(9.62)
    assert evaluate(r"\dfrac{2(1+3)}{4}\cdot 5-1") == pytest.approx(9)


def test_every_trace_is_checked_by_some_number_or_formula() -> None:
    checked = {key for key in TRACES if NUMBERS.get(key) or RELATIONS.get(key)}
    assert checked | FALSE_STEPS.keys() == TRACES.keys()
    clean = {key for key, verdict in STANDARD.items() if cell(verdict) == "clean"}
    assert clean <= checked
