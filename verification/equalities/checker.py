"""The checker: the first numerically false equality of a trace, and how much of it could be checked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

from verification.equalities.chains import Chain, Side, chains_in
from verification.equalities.compare import Comparison, Verdict, compare, printed
from verification.equalities.parser import readings
from verification.equalities.tokens import tokenise
from verification.equalities.tree import Name, NotCheckable, Tree
from verification.equalities.units import DIMENSIONLESS
from verification.equalities.values import EXACT, Value, evaluate, mode_of, names_in

MAX_CHARACTERS = 100_000
"""Only so much of a step is read; `Checked.cut` says so."""
MAX_MEANINGS = 8
"""A symbol that was given more values than this is not followed any further."""
MAX_COMBINATIONS = 64


@dataclass(frozen=True)
class Finding:
    """A false equality: `step` from 1, the texts as written, the values in the unit of the right side."""

    step: int
    text: str
    left: str
    right: str
    left_value: Fraction | float
    right_value: Fraction | float
    explanation: str


@dataclass(frozen=True)
class Checked:
    """What checking found, and how much it could check.

    `checked` counts comparisons with a definite outcome, `not_checkable` relations that were left alone
    (symbols, conditions, units that cannot be compared); `cut` is true if some step was too long to be read
    in full.
    """

    findings: tuple[Finding, ...] = ()
    checked: int = 0
    not_checkable: int = 0
    cut: bool = False
    checked_per_step: tuple[int, ...] = field(default=())

    @property
    def first(self) -> Finding | None:
        """The first false equality in reading order, or None."""
        return self.findings[0] if self.findings else None


def check_trace(steps: Sequence[str]) -> Finding | None:
    """Return the first false equality of a trace in reading order, or None. Never raises on any text."""
    return check(steps).first


def check_step(text: str) -> list[Finding]:
    """Return the false equalities of one step, by itself, in reading order."""
    return list(check([text]).findings)


def check(steps: Sequence[str], *, context: str = "") -> Checked:
    """Check every equality of a trace.

    `context` is a text whose definitions hold for the trace, such as the question; nothing in it is reported.
    """
    symbols = Symbols()
    if context:
        _check_text(context[:MAX_CHARACTERS], 0, symbols)
    findings: list[Finding] = []
    checked = skipped = 0
    per_step = []
    for number, text in enumerate(steps, start=1):
        found, done, left = _check_text(text[:MAX_CHARACTERS], number, symbols)
        findings += found
        checked += done
        skipped += left
        per_step.append(done)
    cut = any(len(text) > MAX_CHARACTERS for text in steps)
    return Checked(tuple(findings), checked, skipped, cut, tuple(per_step))


class Symbols:
    """The values that single symbols were given so far.

    A symbol may be given another value later (a new case, a loop), so it keeps every value it ever had, and
    an equality with symbols is false only if it is false for all of them. A symbol once set to something
    that we cannot evaluate exactly is not followed any further: measured values differ by rounding.
    """

    def __init__(self) -> None:
        self.values: dict[str, tuple[Value, ...]] = {}
        self.unknown: set[str] = set()

    def give(self, name: str, value: Value | None) -> None:
        """Note one more value for a symbol; None for one that cannot be known."""
        if value is None:
            self.unknown.add(name)
            return
        known = self.values.get(name, ())
        if value not in known:
            self.values[name] = (*known, value)
        if len(self.values[name]) > MAX_MEANINGS:
            self.unknown.add(name)

    def combinations(self, names: frozenset[str]) -> list[Mapping[str, Value]]:
        """Return every assignment of known values to the names; NotCheckable if one is unknown."""
        for name in names:
            if name in self.unknown or name not in self.values:
                raise NotCheckable(f"{name} is not known")
        ordered = sorted(names)
        size = 1
        for name in ordered:
            size *= len(self.values[name])
        if size > MAX_COMBINATIONS:
            raise NotCheckable("too many meanings")
        return [
            dict(zip(ordered, values, strict=True))
            for values in product(*(self.values[name] for name in ordered))
        ]


def _check_text(text: str, step: int, symbols: Symbols) -> tuple[list[Finding], int, int]:
    findings: list[Finding] = []
    checked = skipped = 0
    for chain in chains_in(tokenise(text)):
        trees = [_readings(side) for side in chain.sides]
        if not chain.conditional:
            _note_values(chain, trees, symbols)
        else:
            _forget(trees, symbols)
        for place, relation in enumerate(chain.relations):
            outcome = None
            if not chain.conditional and relation != "?":
                outcome = _compare(chain, place, trees, symbols)
            if outcome is None or outcome.verdict is Verdict.UNKNOWN:
                skipped += 1
                continue
            checked += 1
            if outcome.verdict is Verdict.FALSE:
                findings.append(_finding(text, step, chain, place, trees, outcome))
    return findings, checked, skipped


def _readings(side: Side) -> list[Tree]:
    if side.doubt or not side.tokens:
        return []
    try:
        return readings(side.tokens)
    except NotCheckable:
        return []


def _compare(chain: Chain, place: int, trees: list[list[Tree]], symbols: Symbols) -> Comparison | None:
    """Compare two neighbouring sides in every reading; None if the usual reading has no value.

    False only if every reading that has a value is false.
    """
    left, right = trees[place], trees[place + 1]
    if not left or not right:
        return None
    about = chain.relations[place] == "≈" or chain.sides[place].about or chain.sides[place + 1].about
    first: Comparison | None = None
    for a, b in product(left, right):
        try:
            outcomes = _compare_trees(a, b, about=about, symbols=symbols)
        except NotCheckable:
            if first is None:
                return None
            continue
        for outcome in outcomes:
            if outcome.verdict is not Verdict.FALSE:
                return outcome
            first = first or outcome
    return first


def _compare_trees(left: Tree, right: Tree, *, about: bool, symbols: Symbols) -> list[Comparison]:
    names = names_in(left) | names_in(right)
    if not names:
        return [compare(left, right, about=about)]
    if isinstance(left, Name) or isinstance(right, Name):
        raise NotCheckable("true by definition, or a symbol given a new value")
    if about or mode_of(left, right) != EXACT:
        raise NotCheckable("symbols are followed in exact arithmetic only")
    return [compare(left, right, about=False, known=known) for known in symbols.combinations(names)]


def _note_values(chain: Chain, trees: list[list[Tree]], symbols: Symbols) -> None:
    """Note what `A = ...` gives to A: the value of every side, since a chain with an error has several."""
    names = {tree.text for side in trees for tree in side[:1] if isinstance(tree, Name)}
    if not names:
        return
    values: list[Value | None] = []
    for side in trees:
        if side and isinstance(side[0], Name):
            continue
        values.append(_exact_value(side))
    if "?" in chain.relations or "≈" in chain.relations:
        values = [None]
    for name in names:
        for value in values or [None]:
            symbols.give(name, value)


def _forget(trees: list[list[Tree]], symbols: Symbols) -> None:
    for side in trees:
        for tree in side[:1]:
            for name in names_in(tree):
                symbols.give(name, None)


def _exact_value(side: list[Tree]) -> Value | None:
    """Return a side's value if it has one reading and is exact and without a unit."""
    if len(side) != 1 or mode_of(side[0]) != EXACT:
        return None
    try:
        value = evaluate(side[0], EXACT)
    except NotCheckable:
        return None
    exact = isinstance(value.number, Fraction) and not value.doubt and value.dimension == DIMENSIONLESS
    return value if exact else None


def _finding(
    text: str, step: int, chain: Chain, place: int, trees: list[list[Tree]], outcome: Comparison
) -> Finding:
    left, right = chain.sides[place], chain.sides[place + 1]
    whole = quoted(text, left.start, right.end)
    left_value, right_value = outcome.left.number, outcome.right.number
    in_units = outcome.scale != 1 and bool(outcome.scale)
    if in_units:
        left_value, right_value = left_value / outcome.scale, right_value / outcome.scale
    units = " in the unit of the right side" if in_units or outcome.left.dimension else ""
    side = trees[place + 1][0]
    if printed(side) is not None:
        explained = f"the left side is {shown(left_value)}{units}, not {shown(right_value)}"
    else:
        si = " in SI units" if outcome.left.dimension else ""
        explained = f"the left side is {shown(left_value)}, the right side {shown(right_value)}{si}"
    return Finding(
        step=step,
        text=whole,
        left=quoted(text, left.start, left.end),
        right=quoted(text, right.start, right.end),
        left_value=left_value,
        right_value=right_value,
        explanation=f"{whole}: {explained}",
    )


_BEFORE = re.compile(r"(?:\\left|\\boxed|\\[bB]igg?l?|\\(?:mathrm|text|mathbf)\s{0,2}\{)[\s~]{0,3}$")


def quoted(text: str, start: int, end: int) -> str:
    """Return a part of the text as written, on one line, with the braces that belong to its ends."""
    while match := _BEFORE.search(text, max(0, start - 16), start):
        start = match.start()
    open_braces = len(re.findall(r"(?<!\\)\{", text[start:end])) - len(
        re.findall(r"(?<!\\)\}", text[start:end])
    )
    while open_braces > 0 and end < len(text) and text[end] in " }":
        open_braces -= text[end] == "}"
        end += 1
    part = text[start:end].replace("\\\\", " ").replace("&", " ").replace("$", " ")
    return re.sub(r"\s+", " ", part).strip(" ~")


def shown(number: Fraction | float) -> str:
    """Return a number for people: whole numbers and short decimals in full, others to six digits."""
    if isinstance(number, Fraction):
        if number.denominator == 1:
            text = str(number.numerator)
            return (
                text
                if len(text) <= 24
                else f"{float(number):.6g}"
                if len(text) < 300
                else "too large to print"
            )
        if (10**6) % number.denominator == 0 and abs(number.numerator) < 10**15:
            return f"{float(number):.12g}"
        if number.denominator < 1000 and abs(number.numerator) < 10**6:
            return f"{number.numerator}/{number.denominator}"
    try:
        return f"{float(number):.6g}"
    except OverflowError:
        return "too large to print"
