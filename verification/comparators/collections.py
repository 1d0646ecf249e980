"""Sets and ordered lists of answers, compared item by item with another comparator."""

from __future__ import annotations

import re
from dataclasses import dataclass

from verification.comparators.outcome import (
    Comparator,
    Comparison,
    Verdict,
    different,
    equal,
    undecided,
    unreadable,
)

MAX_ITEMS = 50
_PAIRS = {"(": ")", "[": "]", "{": "}", "⟨": "⟩"}
_THOUSANDS = re.compile(r"(?<![\d,])\d{1,3},\d{3}(?![\d,])")


class NoItems(Exception):
    """A text that cannot be cut into items; the text says why."""


def items_of(text: str) -> list[str]:
    """Cut a list at its outermost semicolons, or else commas and the last "and"."""
    text = text.strip().strip("$").replace("\\left", "").replace("\\right", "")
    text = text.replace("\\{", "{").replace("\\}", "}").strip()
    if text[:1] in _PAIRS and _closes_at(text) == len(text) - 1:
        text = text[1:-1]
    separator = ";" if ";" in _outermost(text) else ","
    if separator == "," and _THOUSANDS.search(text):
        raise NoItems("a comma may separate items or thousands")
    parts, start = [], 0
    outer = _outermost(text)
    for place, character in enumerate(outer):
        if character == separator:
            parts.append(text[start:place])
            start = place + 1
    tail = re.split(r"\s+and\s+", text[start:])
    parts += tail
    items = [re.sub(r"^\s*and\s+", "", part).strip() for part in parts]
    if any(not item for item in items):
        raise NoItems("an item is empty")
    if len(items) > MAX_ITEMS:
        raise NoItems(f"more than {MAX_ITEMS} items")
    return items


def _outermost(text: str) -> str:
    """Return the text with everything in brackets blanked, places kept."""
    depth, out = 0, []
    for character in text:
        closing = character in _PAIRS.values()
        depth -= closing and depth > 0
        out.append(" " if depth or closing else character)
        depth += character in _PAIRS
    return "".join(out)


def _closes_at(text: str) -> int:
    depth = 0
    for place, character in enumerate(text):
        depth += character in _PAIRS
        depth -= character in _PAIRS.values()
        if depth == 0:
            return place
    return -1


@dataclass(frozen=True)
class OrderedList:
    """Compares lists place by place."""

    items: Comparator

    def compare(self, key: str, answer: str) -> Comparison:
        """Say whether the lists agree in every place."""
        cut = _cut(key, answer)
        if isinstance(cut, Comparison):
            return cut
        want, have = cut
        if len(want) != len(have):
            return different(f"{len(have)} items instead of {len(want)}")
        open_at = ""
        for place, (mine, theirs) in enumerate(zip(want, have, strict=True), start=1):
            found = self.items.compare(mine, theirs)
            if found.verdict is Verdict.DIFFERENT:
                return different(f"item {place}: {found.reason}")
            if found.verdict is Verdict.UNDECIDED and not open_at:
                open_at = f"item {place}: {found.reason}"
        return undecided(open_at) if open_at else equal(f"all {len(want)} items agree")


@dataclass(frozen=True)
class UnorderedSet:
    """Compares sets: each item of one must have a partner in the other, whatever the order."""

    items: Comparator

    def compare(self, key: str, answer: str) -> Comparison:
        """Say whether the two hold the same items; an item said twice counts once."""
        cut = _cut(key, answer)
        if isinstance(cut, Comparison):
            return cut
        want, have = self._distinct(cut[0]), self._distinct(cut[1])
        table = [[self.items.compare(mine, theirs).verdict for theirs in have] for mine in want]
        if len(want) == len(have) and _matched(table, {Verdict.EQUAL}) == len(want):
            return equal(f"the same {len(want)} items")
        if len(want) != len(have) or _matched(table, {Verdict.EQUAL, Verdict.UNDECIDED}) < len(want):
            if any(Verdict.UNDECIDED in row for row in table) and len(want) != len(have):
                return undecided(f"{len(have)} items instead of {len(want)}, but some could not be compared")
            lacking = [mine for mine, row in zip(want, table, strict=True) if set(row) == {Verdict.DIFFERENT}]
            if lacking:
                return different(f"nothing in the answer equals {lacking[0]!r}")
            return different(f"{len(have)} different items instead of {len(want)}")
        return undecided("some items could not be compared")

    def _distinct(self, items: list[str]) -> list[str]:
        kept: list[str] = []
        for item in items:
            if not any(self.items.compare(other, item).verdict is Verdict.EQUAL for other in kept):
                kept.append(item)
        return kept


def _matched(table: list[list[Verdict]], allowed: set[Verdict]) -> int:
    """Return the size of a largest matching of rows with columns over the allowed entries."""
    partner: dict[int, int] = {}

    def place(row: int, seen: set[int]) -> bool:
        for column, verdict in enumerate(table[row]):
            if verdict in allowed and column not in seen:
                seen.add(column)
                if column not in partner or place(partner[column], seen):
                    partner[column] = row
                    return True
        return False

    return sum(place(row, set()) for row in range(len(table)))


def _cut(key: str, answer: str) -> tuple[list[str], list[str]] | Comparison:
    odd = unreadable(key, answer)
    if odd is not None:
        return odd
    try:
        want = items_of(key)
    except NoItems as error:
        return undecided(f"the key is no list: {error}")
    try:
        return want, items_of(answer)
    except NoItems as error:
        return undecided(f"the answer is no list: {error}")
