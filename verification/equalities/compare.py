"""Whether two sides are equal as printed: exact numbers exactly, rounded ones by their last printed digit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from verification.equalities.tree import Call, Negative, Number, Operation, Tree, Unit
from verification.equalities.units import DIMENSIONLESS, SILENT_RATIOS
from verification.equalities.values import (
    EXACT,
    MEASURED,
    Value,
    as_float,
    evaluate,
    mode_of,
    significant_place,
)

FLOAT_SLACK = 1e-9
"""Relative error that binary arithmetic may leave; far below any printed digit."""
VAGUE = 0.1
"""A comparison whose allowance exceeds this share of the value proves nothing: not counted as checked."""


class Verdict(Enum):
    """What a comparison shows."""

    TRUE = "true"
    FALSE = "false"
    UNKNOWN = "not checkable"


@dataclass(frozen=True)
class Comparison:
    """The outcome for one reading of both sides."""

    verdict: Verdict
    left: Value
    right: Value
    scale: Fraction | float = Fraction(1)
    """What the unit of a printed right side is worth in SI: values are shown in the right side's own unit."""


def printed(tree: Tree) -> Number | None:
    """Return the number of a side that is only a printed number, signed or with a unit; else None."""
    while True:
        match tree:
            case Number():
                return tree
            case Negative(body):
                tree = body
            case Operation("*" | "/", body, right) if _only_units(right):
                tree = body
            case _:
                return None


def _only_units(tree: Tree) -> bool:
    match tree:
        case Unit():
            return True
        case Operation("^", left, _):
            return _only_units(left)
        case Operation("*" | "/", left, right):
            return _only_units(left) and _only_units(right)
    return False


def _has_units(tree: Tree) -> bool:
    match tree:
        case Unit():
            return True
        case Negative(body):
            return _has_units(body)
        case Operation(_, left, right):
            return _has_units(left) or _has_units(right)
    return False


def _unit_scale(tree: Tree) -> tuple[Fraction | float, bool]:
    """Return what the units of a printed number multiply it by, and whether all are SI without prefix."""
    match tree:
        case Unit(unit):
            return unit.factor, unit.coherent
        case Negative(body):
            return _unit_scale(body)
        case Operation("^", left, _) if _only_units(left):
            factor, coherent = _unit_scale(left)
            value = evaluate(tree, EXACT).number
            return value, coherent or factor == 1
        case Operation(("*" | "/") as sign, left, right):
            (a, first), (b, second) = _unit_scale(left), _unit_scale(right)
            return (a * b if sign == "*" else a / b), first and second
    return Fraction(1), True


def compare(left: Tree, right: Tree, *, about: bool, known: Mapping[str, Value] | None = None) -> Comparison:
    """Compare two sides; `about` for ≈. NotCheckable when one of them has no value."""
    mode = mode_of(left, right)
    first, second = evaluate(left, mode, known), evaluate(right, mode, known)
    scale: Fraction | float = Fraction(1)
    if printed(right) is not None:
        scale, _ = _unit_scale(right)
    if first.dimension != second.dimension:
        if first.dimension != DIMENSIONLESS and second.dimension != DIMENSIONLESS:
            return Comparison(Verdict.UNKNOWN, first, second)
        return _unit_on_one_side(left, right, first, second, about=about, mode=mode)
    return Comparison(_judged(left, right, first, second, about=about, mode=mode), first, second, scale)


def _unit_on_one_side(
    left: Tree, right: Tree, first: Value, second: Value, *, about: bool, mode: str
) -> Comparison:
    """Compare `3 * 9.8 = 29.4 N`: the working without units, the result with one.

    It is called false only if the two are within a factor of two or the unit is a plain SI one, and no
    conversion left unsaid would mend it.
    """
    scale, coherent = _unit_scale(right)
    bare = printed(right)
    if bare is None or _has_units(left) or not scale:
        return Comparison(Verdict.UNKNOWN, first, second)
    own = Value(second.number / scale, second.doubt / abs(as_float(scale)))
    verdict = _judged(left, right, first, own, about=about, mode=mode, scale=scale)
    if verdict is Verdict.FALSE:
        a, b = as_float(first.number), as_float(own.number)
        near = a * b > 0 and 0.5 < a / b < 2
        if _conversion(first, own) or not (near or (coherent and scale == 1)):
            verdict = Verdict.UNKNOWN
    return Comparison(verdict, first, own)


def _conversion(first: Value, second: Value) -> bool:
    a, b = abs(as_float(first.number)), abs(as_float(second.number))
    if not a or not b:
        return False
    for ratio in (1.0, *SILENT_RATIOS):
        for quotient in (a / b, b / a):
            mantissa = quotient / ratio
            if not 1e-40 < mantissa < 1e40:
                return True
            while mantissa >= 3.1622776601683795:
                mantissa /= 10
            while mantissa < 0.31622776601683794:
                mantissa *= 10
            # near 1 itself there is nothing to convert; 1.01325 (atm, bar) is told apart by its own closeness
            apart = quotient > 3 or quotient < 1 / 3
            if abs(mantissa - 1) < (0.03 if apart else 0.002) and (apart or ratio != 1.0):
                return True
    return False


def _judged(
    left: Tree,
    right: Tree,
    first: Value,
    second: Value,
    *,
    about: bool,
    mode: str,
    scale: Fraction | float | None = None,
) -> Verdict:
    a, b = first.number, second.number
    if a == b:
        return Verdict.TRUE
    size = max(abs(as_float(a)), abs(as_float(b)))
    allowance = first.doubt + second.doubt
    exact = isinstance(a, Fraction) and isinstance(b, Fraction)
    number_right, number_left = printed(right), printed(left)
    if number_right is not None and number_left is not None:
        # two printed numbers: either may be the rounded one
        bare = scale is not None
        allowance = max(
            _rounding(right, number_right, first, left, about=about, mode=mode, bare=bare),
            _rounding(left, number_left, second, right, about=about, mode=mode, bare=False),
        )
    elif number_right is not None:
        # its own doubt is the rounding that is judged here
        allowance = first.doubt + _rounding(
            right, number_right, first, left, about=about, mode=mode, bare=scale is not None
        )
    elif number_left is not None:
        allowance = second.doubt + _rounding(
            left, number_left, second, right, about=about, mode=mode, bare=False
        )
    elif about:
        # two expressions called nearly equal: an approximation whose quality nobody stated
        return Verdict.UNKNOWN
    if not (exact and allowance == 0):
        allowance += FLOAT_SLACK * size
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        difference: Fraction | float = abs(a - b)
    else:
        difference = abs(as_float(a) - as_float(b))
    if difference <= allowance:
        return Verdict.TRUE if allowance <= VAGUE * size else Verdict.UNKNOWN
    return Verdict.FALSE


def _rounding(
    tree: Tree, number: Number, computed: Value, other: Tree, *, about: bool, mode: str, bare: bool
) -> float:
    """Return how far a printed result may lie from the computed value, from its last printed digit.

    Nothing where the computed value could have been printed in full with as many digits. Otherwise one unit
    of the last digit in measured work and after ≈ (hidden digits), else a correct rounding or a cut.
    """
    scale = Fraction(1) if bare else _unit_scale(tree)[0]
    own = as_float(computed.number) / as_float(scale)
    place = as_float(number.place)
    if number.truncated:
        return place * abs(as_float(scale))
    steps = own / place
    whole = abs(steps - round(steps)) <= FLOAT_SLACK * max(1.0, abs(steps))
    size = abs(as_float(scale))
    digits = len(str(abs(int(number.value / number.place)))) if abs(number.value) < Fraction(10) ** 300 else 0
    if number.style == "integer":
        zeros = as_float(significant_place(number, keep=1 if about else 2))
        if (about or mode == MEASURED) and zeros > place:
            return zeros * (1.0 if about else 0.5) * size
        if whole:
            return 0.0
        if about:
            return place * size
        if number.place > 1 or mode == MEASURED or digits >= 3 or (digits >= 2 and _has_decimals(other)):
            return _half_or_cut(own, as_float(number.value), place) * size
        return 0.0
    if whole:
        return 0.0
    if about or mode == MEASURED:
        return place * size
    return _half_or_cut(own, as_float(number.value), place) * size


def _has_decimals(tree: Tree) -> bool:
    """Tell whether a side holds a number with a decimal point."""
    match tree:
        case Number():
            return tree.style != "integer"
        case Negative(body) | Call(_, body):
            return _has_decimals(body)
        case Operation(_, left, right):
            return _has_decimals(left) or _has_decimals(right)
    return False


def _half_or_cut(own: float, shown: float, place: float) -> float:
    """Allow half a unit, or up to one unit where digits were cut off towards zero."""
    cut = abs(shown) < abs(own)
    return place * (1.0 - 1e-12 if cut else 0.5 + 1e-9)
