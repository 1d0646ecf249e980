"""Structured sentences: the published worked responses, and phrasings of our own for two domains."""

from __future__ import annotations

import copy
import re
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.verification.phrasings import (
    ACCEPTED_JOINT,
    ACCEPTED_STABLE,
    REJECTED_JOINT,
    REJECTED_STABLE,
)
from tests.verification.worked import STABLE, UNSTABLE, worked
from verification.comparators import BadComparator
from verification.comparators.sentences import Template, builtin_rules, read_rule

BLOCKS = read_rule("stacked-blocks")
GEARS = read_rule("gear-train")
GEAR_KEY = "counterclockwise; gear C is driven by gear B and turns at 45 rpm"


def extraction(published: str) -> str:
    """Return what our own notation says for an extraction of the seed."""
    for words in (", no joint required", ", no joint"):
        if published.startswith("(stable"):
            published = published.replace(words, "")
    return published.replace("no keyed inter-block joint", "no joint")


def test_the_twenty_worked_responses_are_decided_as_published(shared: Path) -> None:
    """Source: seeds/003 section 2, rulings and extractions."""
    cases = worked(shared)
    assert len(cases) == 20
    for case in cases:
        decision = BLOCKS.decide(case.key, case.response)
        assert decision.accepted is case.accepted, case.response
        assert decision.reading.shown() == extraction(case.extracted), case.response
        assert decision.reason
    assert sum(case.accepted for case in cases) == 11


def joint_key(pair: str) -> str:
    return UNSTABLE.format(*pair.split(","))


@pytest.mark.parametrize("answer", ACCEPTED_STABLE)
def test_it_accepts_for_a_stable_key(answer: str) -> None:
    decision = BLOCKS.decide(STABLE, answer)
    assert decision.accepted, decision.reason


@pytest.mark.parametrize("answer", REJECTED_STABLE)
def test_it_rejects_for_a_stable_key(answer: str) -> None:
    assert not BLOCKS.decide(STABLE, answer).accepted


@pytest.mark.parametrize(("pair", "answer"), ACCEPTED_JOINT)
def test_it_accepts_the_joint(pair: str, answer: str) -> None:
    decision = BLOCKS.decide(joint_key(pair), answer)
    assert decision.accepted, f"{decision.reason}: {decision.reading.shown()}"
    wrong = joint_key("E,D")
    assert not BLOCKS.decide(wrong, answer).accepted


@pytest.mark.parametrize(("pair", "answer"), REJECTED_JOINT)
def test_it_rejects_for_the_joint(pair: str, answer: str) -> None:
    decision = BLOCKS.decide(joint_key(pair), answer)
    assert not decision.accepted, decision.reading.shown()
    assert decision.reason


@pytest.mark.parametrize(
    "answer",
    [
        "ANSWER: Counter-clockwise; C is driven by B at 45 rpm",
        "ANSWER: anticlockwise — gear B drives gear C, at 45.3 rpm",
        "ANSWER: **CCW**, gear C, driven by gear B, makes 45 revolutions per minute",
    ],
)
def test_a_second_domain_is_data_too(answer: str) -> None:
    decision = GEARS.decide(GEAR_KEY, answer)
    assert decision.accepted, decision.reason


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("ANSWER: clockwise; C is driven by B at 45 rpm", "status"),
        ("ANSWER: counterclockwise; B is driven by C at 45 rpm", r"\(B,C\), not \(C,B\)"),
        ("ANSWER: counterclockwise; C is driven by B at 47 rpm", "47, not 45"),
        ("ANSWER: counterclockwise", "no drive"),
        ("ANSWER: counterclockwise; C is driven by B", "no speed"),
        ("ANSWER: counterclockwise or clockwise", "two statuses"),
        ("ANSWER: counterclockwise; C is driven by B at 45 rpm or 60 rpm", "conflicting"),
    ],
)
def test_the_second_domain_rejects_with_its_reason(answer: str, why: str) -> None:
    decision = GEARS.decide(GEAR_KEY, answer)
    assert not decision.accepted
    assert re.search(why, decision.reason), decision.reason


def test_a_key_outside_the_templates_is_an_error() -> None:
    with pytest.raises(BadComparator, match="follows no template"):
        BLOCKS.decide("42", "ANSWER: stable")


def test_a_template_reads_back_what_it_fills() -> None:
    template = Template("joint between block {UPPER} and block {LOWER} fails")
    values = {"UPPER": "D", "LOWER": "C"}
    assert template.match(template.fill(values)) == values
    assert template.match("joint between  block D and\nblock C fails.") == values
    assert template.match("joint between block D; and block C fails") is None


def _changed(path: list[Any], value: Any) -> dict[str, Any]:
    data = copy.deepcopy(dict(BLOCKS.data))
    place: Any = data
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return data


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (["colour"], "red", 'no field "colour"'),
        (["statuses"], {}, "statuses"),
        (["templates", "unstable"], "unstable; {X} and {X}", "twice|no slot"),
        (["templates", "broken"], "broken", "no status"),
        (["claims", 0, "slots", "UPPER"], "colour", "must be one of"),
        (["claims", 0, "patterns"], ["{UPPER} <nothing> {LOWER}"], "not defined"),
        (["claims", 0, "patterns"], ["{UPPER} ["], "open"),
        (["claims", 0, "patterns"], ["{UPPER} ] {LOWER}"], "not open"),
        (["claims", 0, "patterns"], ["{UPPER} alone"], "each slot once"),
        (["claims", 0, "patterns"], [], "must not be empty"),
        (["claims", 0, "patterns"], ["{UPPER} ~ a ~ b ~ c ~ d ~ {LOWER}"], "too long"),
        (["claims", 0, "patterns"], ["{UPPER} " + "[a] " * 13 + "{LOWER}"], "too long"),
        (["claims", 0, "required_for"], ["odd"], "no status"),
        (["claims", 0, "tolerance"], {"UPPER": "wide"}, "must be a number"),
        (["hedges"], "probably", "list of texts"),
    ],
)
def test_a_bad_rule_says_where(path: list[Any], value: Any, words: str) -> None:
    with pytest.raises(BadComparator, match=words):
        read_rule(_changed(path, value))


def test_the_builtin_rules_are_listed() -> None:
    assert builtin_rules() == ["gear-train", "stacked-blocks"]


@given(st.lists(st.sampled_from(
    ["unstable", "stable", "B", "A", "C", "'s", "CoM", "not", "over", "joint", "between", "and", "or", "beyond",
     ",", ";", "(", ")", "-", "+", "block", "the", "center of mass of", "**", "ANSWER:", "\n"]
), max_size=200))  # fmt: skip
def test_reading_is_total_and_never_accepts_without_the_pair(words: list[str]) -> None:
    decision = BLOCKS.decide(joint_key("B,A"), "ANSWER: " + " ".join(words))
    if decision.accepted:
        assert decision.reading.claims["joint"] == (("B", "A"),)


@pytest.mark.parametrize(
    "words",
    [
        "B and ",
        "B , ",
        "CoM of B not ",
        "B - ",
        "B its com x x x x not x x over x x ",
        "( ",
        "joint between ",
    ],
)
def test_a_rule_cannot_be_made_to_run_away(words: str) -> None:
    started = time.monotonic()
    answer = "ANSWER: unstable; " + (words * 2_000)[:1_900]
    assert not BLOCKS.decide(joint_key("B,A"), answer).accepted
    assert time.monotonic() - started < 2
    too_long = BLOCKS.decide(joint_key("B,A"), "ANSWER: unstable; " + words * 20_000)
    assert "longer than" in too_long.reason
