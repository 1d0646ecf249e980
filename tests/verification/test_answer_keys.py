"""Audits of answer keys: shapes, baselines, the published table, and the bootstrap."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stats.stratified import EmptyStratum, StratifiedResample, adjusted
from tests.verification.worked import STABLE, UNSTABLE, worked
from verification.answer_keys.audit import audit, diagnose, structure
from verification.answer_keys.records import BadAudit, Item, Material, Response, Target
from verification.answer_keys.scoring import (
    rescore,
    strict_baseline,
    strictly_equal,
    structured_baseline,
    verdict,
)
from verification.answer_keys.shapes import is_sentence_valued, propose_rule, templates_of
from verification.comparators.sentences import read_rule

BLOCKS = read_rule("stacked-blocks")
TARGET = Target("blocks", "L5", "L4", "L5")
CELL = ("blocks", "L5")
STABLE_KEYS = [STABLE.replace("block E", f"block {top}") for top in "BCDE"]
UNSTABLE_KEYS = [
    UNSTABLE.replace("block C,", f"block {top},").format(upper, lower)
    for top, upper, lower in ("CBA", "DCB", "EBA", "EDC", "DBA")
]
# 26 stable and 24 unstable keys, the commonest of the nine eight times, as in the seed's sample of 50
SAMPLE = [
    key
    for key, number in zip(STABLE_KEYS + UNSTABLE_KEYS, (8, 6, 6, 6, 5, 5, 5, 5, 4), strict=True)
    for _ in range(number)
]
RIGHT = {**dict.fromkeys(STABLE_KEYS, "ANSWER: stable")}
RIGHT |= {
    key: "ANSWER: unstable ({}-{} joint)".format(*re.findall(r"block ([A-Z])", key)[1:])
    for key in UNSTABLE_KEYS
}


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        ("42 N", False),
        ("stable; because", True),
        ("one two three four five six", True),
        ("one two three four five", False),
        ("a-b c_d e.f", True),
        ('["stable; x", "one two three four five six"]', False),
        ('{"a": "b; c"}', False),
        ("[A; B]", False),
        ("", False),
    ],
)
def test_which_keys_are_sentences(key: str, sentence: bool) -> None:
    """Source: seeds/003 section 5: no container, and a semicolon or at least six alphanumeric word tokens."""
    assert is_sentence_valued(key) is sentence


def test_three_thousand_keys_are_two_templates_and_nine_strings() -> None:
    """Source: seeds/003 section 1: 1,500 of each status."""
    keys = [STABLE_KEYS[place % 4] for place in range(1_500)]
    keys += [UNSTABLE_KEYS[place % 5] for place in range(1_500)]
    found = templates_of(keys)
    assert [one.count for one in found] == [1_500, 1_500]
    assert sum(one.distinct for one in found) == 9
    assert sorted(len(one.slots) for one in found) == [1, 3]


def test_words_become_a_slot_where_three_keys_differ_there_only() -> None:
    keys = [f"the light is {colour} at {number} nm" for number, colour in enumerate(["red", "green", "blue"])]
    (found,) = templates_of(keys)
    assert found.text == "the light is {IS} at {AT} nm"
    assert found.slots["IS"] == ("blue", "green", "red")


def test_the_proposed_rule_reads_the_keys_own_wording() -> None:
    rule = read_rule(propose_rule(SAMPLE, name="proposal"))
    for key in set(SAMPLE):
        assert rule.decide(key, key).accepted, rule.decide(key, key).reason
    assert not rule.decide(UNSTABLE_KEYS[0], UNSTABLE_KEYS[1]).accepted


def test_constant_answer_baselines_of_the_sample() -> None:
    """Source: seeds/003 section 2 (26/50) and SPEC.md B2 (8/50)."""
    assert (strict_baseline(SAMPLE).right, strict_baseline(SAMPLE).share) == (8, 0.16)
    found = structured_baseline(SAMPLE, BLOCKS)
    assert (found.right, found.share, found.answer) == (26, 0.52, "stable")


def test_a_cell_without_items_has_no_baseline() -> None:
    for compute in (lambda: strict_baseline([]), lambda: structured_baseline([], BLOCKS)):
        with pytest.raises(BadAudit, match="no baseline"):
            compute()


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (0.1, 0.2, "survives"),
        (-0.2, -0.1, "reverses"),
        (-0.1, 0.1, "indistinguishable from zero"),
        (0.0, 0.1, "indistinguishable from zero"),
        (float("nan"), 0.1, "undefined"),
    ],
)
def test_verdicts(low: float, high: float, word: str) -> None:
    assert verdict(low, high) == word


def test_strict_comparison_looks_at_the_answer_line() -> None:
    assert strictly_equal("Stable; x", "I think.\n**ANSWER:** stable;  x.")
    assert not strictly_equal("stable; x", "ANSWER: stable")


def table(shared: Path, section: int) -> list[list[str]]:
    """Return the rows of a section's table in the seed."""
    (path,) = shared.glob("seeds/003_*.txt")
    text = path.read_text(encoding="utf-8").split(f"## {section}. ")[1].split("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("| ")]
    return [[cell.strip(" *") for cell in line.strip("|").split("|")] for line in lines[1:]]


def number(text: str) -> float:
    return float(re.sub(r"[^-+.\d]", "", text))


def synthetic(accuracy: dict[str, float]) -> Material:
    """A benchmark of the seed's shape: 34 domains with L5, 31 of them with L4, 164 cells.

    The seed does not print the number of all cells; the changes of its overall macro fit 164.
    """
    items: dict[str, Item] = {}
    for place, key in enumerate(SAMPLE):
        items[f"s{place}"] = Item(f"s{place}", "blocks", "L5", key, f"image{place}")
        items[f"t{place}"] = Item(f"t{place}", "blocks", "L4", f"short {place % 7}", f"image{place}")
    others = [(f"d{place}", "L5") for place in range(33)] + [(f"d{place}", "L4") for place in range(30)]
    others += [(f"d{place % 33}", f"L{place // 33 + 1}") for place in range(99)]
    for domain, level in others:
        for place in range(3):
            name = f"{domain}-{level}-{place}"
            items[name] = Item(name, domain, level, f"key {place}", f"{domain}-image{place}")
    source = np.random.default_rng(0)
    responses = []
    for model, share in accuracy.items():
        right = round(50 * share)
        for name, item in items.items():
            if item.cell == CELL:
                good = int(name[1:]) < right
                text = RIGHT[item.key] if good else "ANSWER: cannot say"
                responses.append(Response(name, model, text, False))
            else:
                responses.append(Response(name, model, "", bool(source.random() < 0.5)))
    return Material(items, responses)


def test_the_published_changes_follow_to_a_hundredth_of_a_point(shared: Path) -> None:
    """Source: seeds/003, section 4 from section 3; both sides of a difference are rounded to 0.01 there."""
    accuracy = {row[0]: number(row[3]) / 100 for row in table(shared, 3)}
    published = {row[0]: row for row in table(shared, 4)}
    assert len(accuracy) == 10
    summary, rescored = audit(synthetic(accuracy), BLOCKS, TARGET, resamples=50)
    assert (summary["cells"], len(summary["paired_domains"])) == ({"all": 164, "upper": 34}, 31)
    assert (summary["baseline"]["before"]["share"], summary["baseline"]["after"]["share"]) == (0.16, 0.52)
    assert len(rescored) == 500
    for row in summary["models"]:
        cells = published[row["model"]]
        assert row["after"]["accuracy"] == accuracy[row["model"]]
        for name, before, after in (
            ("raw_upper", 1, 2), ("adjusted_upper", 3, 4), ("difference", 5, 7), ("overall", 10, 11)
        ):  # fmt: skip
            change = 100 * (row["after"][name] - row["before"][name])
            assert change == pytest.approx(number(cells[after]) - number(cells[before]), abs=0.0101), name


def test_the_published_verdicts_follow_from_their_intervals(shared: Path) -> None:
    """Source: seeds/003 section 4, columns "95% CI after" and "verdict after"."""
    rows = table(shared, 4)
    for row in rows:
        low, high = (number(end) for end in row[8].split(" to "))
        assert verdict(low, high) == row[9]
    assert len(rows) == 10


def test_one_row_in_full() -> None:
    """Strict 0 and structured 0.60 (SPEC.md B2): raw +1.76, adjusted (0.1667 + 0.1905)/31 = +1.15 points."""
    (row,) = audit(synthetic({"m": 0.6}), BLOCKS, TARGET, resamples=10)[0]["models"]
    assert 100 * (row["after"]["raw_upper"] - row["before"]["raw_upper"]) == pytest.approx(100 * 0.6 / 34)
    change = row["after"]["adjusted_upper"] - row["before"]["adjusted_upper"]
    assert change == pytest.approx(((0.6 - 0.52) / 0.48 + 0.16 / 0.84) / 31)
    assert row["after"]["difference"] - row["before"]["difference"] == pytest.approx(change)


def test_the_worked_responses_are_rescored_and_listed(shared: Path) -> None:
    cases = worked(shared)
    items = {f"i{place}": Item(f"i{place}", *CELL, case.key, f"c{place}") for place, case in enumerate(cases)}
    responses = [Response(f"i{place}", case.model, case.response, None) for place, case in enumerate(cases)]
    found = rescore(Material(items, responses), BLOCKS, CELL)
    assert sum(one.after for one in found) == 11
    assert not any(one.before for one in found)
    assert all(one.reason and one.extracted for one in found)


def test_a_cell_with_sentences_is_diagnosed() -> None:
    rows = diagnose(synthetic({"m": 0.6}))
    assert rows == [
        {
            "domain": "blocks", "level": "L5", "flagged_items": 50, "items": 50, "evaluated_responses": 50,
            "strictly_correct": 0, "strict_accuracy": 0.0,
        }
    ]  # fmt: skip


def test_an_audit_without_two_levels_has_no_difference_and_says_why() -> None:
    items = {"a": Item("a", *CELL, STABLE, "a")}
    material = Material(items, [Response("a", "m", "ANSWER: stable", None)])
    (row,) = audit(material, BLOCKS, TARGET, resamples=10)[0]["models"]
    assert row["after"]["difference"] is None
    assert "no domain has both" in row["after"]["difference_reason"]


@pytest.mark.parametrize(
    ("items", "responses", "words"),
    [
        ({}, [], "no keys"),
        ({"a": Item("a", *CELL, STABLE, "a")}, [Response("b", "m", "x", None)], "has no key"),
        ({"a": Item("a", *CELL, STABLE, "a")}, [Response("a", "m", "x", None)] * 2, "two responses"),
    ],
)
def test_material_that_does_not_fit_is_refused(
    items: dict[str, Item], responses: list[Response], words: str
) -> None:
    with pytest.raises(BadAudit, match=words):
        Material(items, responses)


def test_a_rule_for_other_keys_is_refused() -> None:
    material = Material({"a": Item("a", *CELL, "42", "a")}, [Response("a", "m", "ANSWER: 42", None)])
    with pytest.raises(BadAudit, match="follows no template"):
        audit(material, BLOCKS, TARGET)
    with pytest.raises(BadAudit, match="no stored response"):
        rescore(material, BLOCKS, ("other", "L5"))
    with pytest.raises(BadAudit, match="no keys"):
        structure(material, ("other", "L5"))


def test_an_empty_stratum_is_named() -> None:
    with pytest.raises(EmptyStratum, match='"optics" has no clusters'):
        StratifiedResample(np.array([0, 0, 2]), ["gears", "optics", "blocks"])


def test_a_resample_keeps_the_size_of_each_stratum() -> None:
    stratum = np.array([0, 0, 0, 1, 1])
    totals = StratifiedResample(stratum, ["a", "b"], resamples=200).totals(np.ones((1, 5)))
    assert (totals[:, 0] == [3, 2]).all()


def test_the_bootstrap_agrees_with_a_plain_loop() -> None:
    """Each stratum's draws are those of one generator, stratum after stratum."""
    sums = np.arange(10.0).reshape(2, 5)
    stratum = np.array([0, 1, 0, 1, 1])
    totals = StratifiedResample(stratum, ["a", "b"], resamples=7, seed=3).totals(sums)
    generator = np.random.default_rng(3)
    for place in range(2):
        members = [index for index in range(5) if stratum[index] == place]
        drawn = generator.integers(0, len(members), size=(7, len(members)))
        for row in range(7):
            plain = sum(sums[:, members[one]] for one in drawn[row])
            assert totals[1 + row, :, place] == pytest.approx(plain)


def test_the_spread_of_the_bootstrap_is_that_of_the_theory() -> None:
    """Mean of 400 draws with variance 1/4: the standard error is 0.025."""
    values = np.tile([0.0, 1.0], 200)[None]
    resample = StratifiedResample(np.zeros(400, dtype=int), ["a"], resamples=4_000, seed=1)
    means = resample.totals(values)[1:, 0, 0] / 400
    assert means.std() == pytest.approx(0.025, rel=0.05)


@given(st.floats(0, 1), st.floats(0, 0.99))
def test_adjusted_accuracy_is_0_at_the_baseline_and_1_at_the_top(accuracy: float, base: float) -> None:
    assert float(adjusted(base, base)) == 0
    assert float(adjusted(1.0, base)) == pytest.approx(1)
    assert float(adjusted(accuracy, base)) <= 1 + 1e-9
    assert np.isnan(float(adjusted(1.0, 1.0)))


def test_ten_models_and_ten_thousand_resamples_take_seconds() -> None:
    summary: dict[str, Any]
    summary, _ = audit(synthetic({f"m{place}": 0.5 for place in range(3)}), BLOCKS, TARGET)
    assert summary["bootstrap"]["resamples"] == 10_000
    assert all(row["after"]["difference_ci"] for row in summary["models"])
