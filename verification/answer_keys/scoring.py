"""Scores of stored responses before and after a rule, constant-answer baselines, and verdicts."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from verification.answer_keys.records import BadAudit, Item, Material, Response
from verification.comparators.outcome import BadComparator
from verification.comparators.sentences import Decision, Reading, Rule

SURVIVES, REVERSES, NOTHING = "survives", "reverses", "indistinguishable from zero"


def verdict(low: float, high: float) -> str:
    """Return what a 95% interval of a difference says."""
    if math.isnan(low) or math.isnan(high):
        return "undefined"
    return SURVIVES if low > 0 else REVERSES if high < 0 else NOTHING


def strictly_equal(key: str, answer: str) -> bool:
    """Whether an answer is the key, capitals and the blanks between words apart."""
    return _plain(key) == _plain(answer)


def _plain(text: str) -> str:
    marked = re.findall(r"^[ \t>*_`]*ANSWER[*_`]*:(.*)$", text, re.IGNORECASE | re.MULTILINE)
    return " ".join((marked[0] if len(marked) == 1 else text).strip(" \t*_`.").casefold().split())


@dataclass(frozen=True)
class Baseline:
    """The constant answer that is right most often: how often, of how many, and what it is."""

    right: int
    of: int
    answer: str

    @property
    def share(self) -> float:
        """The share of items for which it is right."""
        return self.right / self.of


def strict_baseline(keys: Sequence[str]) -> Baseline:
    """Return the best constant answer where a key accepts itself only: the commonest key. BadAudit without keys."""
    if not keys:
        raise BadAudit("a cell without evaluated items has no baseline")
    counts = Counter(_plain(key) for key in keys)
    originals = {_plain(key): key for key in reversed(keys)}
    answer, right = max(counts.items(), key=lambda pair: (pair[1], pair[0]))
    return Baseline(right, len(keys), originals[answer])


def structured_baseline(keys: Sequence[str], rule: Rule) -> Baseline:
    """Return the best constant answer under a rule: each key, and each bare status, is tried."""
    candidates = [phrases[0] for phrases in rule.statuses.values()]
    counts = Counter(keys)
    best = Baseline(0, len(keys), "")
    if not keys:
        raise BadAudit("a cell without evaluated items has no baseline")
    for candidate in [*candidates, *sorted(counts)]:
        reading = rule.read(f"{rule.marker} {candidate}".strip())
        right = sum(number for key, number in counts.items() if judged(rule, key, reading).accepted)
        if right > best.right:
            best = Baseline(right, len(keys), candidate)
    return best


def decided(rule: Rule, key: str, response: str) -> Decision:
    """Decide under a rule; BadAudit for a key that the rule has no template for."""
    return judged(rule, key, rule.read(response))


def judged(rule: Rule, key: str, reading: Reading) -> Decision:
    """Decide under a rule about a response that was read already; BadAudit like `decided`."""
    try:
        return rule.judge(key, reading)
    except BadComparator as error:
        raise BadAudit(str(error)) from error


@dataclass(frozen=True)
class Rescored:
    """A response of the audited cell with its score before and after, why, and what was extracted."""

    item: Item
    response: Response
    before: bool
    after: bool
    reason: str
    extracted: str


def score_before(item: Item, response: Response) -> bool:
    """Return the score in force: the stored one, or else the strict comparison."""
    return response.correct if response.correct is not None else strictly_equal(item.key, response.text)


def rescore(material: Material, rule: Rule, cell: tuple[str, str]) -> list[Rescored]:
    """Score the responses of a cell under a rule, in the order of item and model."""
    found = []
    for response in material.responses:
        item = material.items[response.item]
        if item.cell != cell:
            continue
        decision = decided(rule, item.key, response.text)
        found.append(
            Rescored(
                item,
                response,
                score_before(item, response),
                decision.accepted,
                decision.reason,
                decision.reading.shown(),
            )
        )
    if not found:
        raise BadAudit(f"no stored response in {cell[0]} {cell[1]}")
    return sorted(found, key=lambda one: (one.item.name, one.response.model))
