"""The value of an expression tree: exact where it can be, with the doubt that printed rounding leaves."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from verification.equalities.tree import (
    Call,
    Constant,
    Name,
    Negative,
    NotCheckable,
    Number,
    Operation,
    Tree,
    Unit,
)
from verification.equalities.units import DIMENSIONLESS, Dimension, times

MAX_BITS = 4096
"""Largest numerator or denominator of an exact value; beyond it an equality is not checked (9^9^9)."""
MAX_FACTORIAL = 300

# How numbers are taken, by what the two sides of an equality hold.
EXACT = "exact"
"""Whole numbers, and decimals of one digit: as printed."""
DECIMAL = "decimal"
"""Decimals of two digits or more may have been rounded (1/3 printed as 0.33), all else is as printed."""
MEASURED = "measured"
"""Units, scientific notation or irrational numbers: every decimal may have been rounded when it was printed,
and so may whole numbers of three digits or more."""


@dataclass(frozen=True)
class Value:
    """A number in coherent SI units, how far rounding of what was printed can move it, and its dimension."""

    number: Fraction | float
    doubt: float = 0.0
    dimension: Dimension = DIMENSIONLESS


def mode_of(*trees: Tree) -> str:
    """Return the mode (EXACT, DECIMAL, MEASURED) in which these sides are compared."""
    modes = {mode for tree in trees for mode in _modes(tree)}
    return next(mode for mode in (MEASURED, DECIMAL, EXACT) if mode in modes or mode == EXACT)


def _modes(tree: Tree) -> set[str]:
    match tree:
        case Number():
            if tree.truncated or tree.style == "scientific":
                return {MEASURED}
            return {DECIMAL} if tree.style == "decimal" else set()
        case Unit() | Constant():
            return {MEASURED}
        case Negative(body):
            return _modes(body)
        case Call(function, body):
            return _modes(body) if function == "!" else {MEASURED}
        case Operation(sign, left, right):
            root = sign == "^" and isinstance(right, Operation)
            return _modes(left) | _modes(right) | ({MEASURED} if root else set())
    return set()


def names_in(tree: Tree) -> frozenset[str]:
    """Return the symbols of a tree."""
    match tree:
        case Name(text):
            return frozenset({text})
        case Negative(body) | Call(_, body):
            return names_in(body)
        case Operation(_, left, right):
            return names_in(left) | names_in(right)
    return frozenset()


def as_float(number: Fraction | float) -> float:
    """Return a finite float; NotCheckable when the number has none."""
    try:
        value = float(number)
    except OverflowError:
        raise NotCheckable("too large") from None
    if not math.isfinite(value):
        raise NotCheckable("too large")
    return value


def _bounded(number: Fraction | float) -> Fraction | float:
    if isinstance(number, float):
        return as_float(number)
    return _bounded_exact(number)


def _bounded_exact(number: Fraction) -> Fraction:
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > MAX_BITS:
        raise NotCheckable("too large")
    return number


def evaluate(tree: Tree, mode: str, known: Mapping[str, Value] | None = None) -> Value:
    """Return the value of a tree; NotCheckable for unknown symbols, mixed dimensions, numbers too large."""
    match tree:
        case Number():
            return _printed(tree, mode)
        case Constant(name):
            return Value(math.pi if name == "pi" else math.e)
        case Name(text):
            if known is None or text not in known:
                raise NotCheckable(f"{text} is not known")
            return known[text]
        case Unit(unit):
            return Value(unit.factor, 0.0, unit.dimension)
        case Negative(body):
            value = evaluate(body, mode, known)
            return Value(-value.number, value.doubt, value.dimension)
        case Call(function, body):
            return _call(function, evaluate(body, mode, known))
        case Operation(sign, left, right):
            return _operate(sign, evaluate(left, mode, known), evaluate(right, mode, known))
    raise NotCheckable("not arithmetic")


def significant_place(number: Number, *, keep: int) -> Fraction:
    """Return one unit of the last significant digit; trailing zeros of whole numbers do not count.

    At least `keep` digits are taken as significant.
    """
    place = number.place
    if number.style == "integer" and number.value:
        while abs(number.value) >= place * 10**keep and number.value % (place * 10) == 0:
            place *= 10
    return place


def _printed(number: Number, mode: str) -> Value:
    doubt = Fraction(0)
    if number.truncated:
        doubt = number.place
    elif (mode != EXACT and number.style == "decimal") or (mode == MEASURED and number.style != "integer"):
        doubt = number.place / 2
    elif mode == MEASURED and number.style == "integer" and abs(number.value) >= 100 * number.place:
        doubt = significant_place(number, keep=2) / 2
    return Value(_bounded(number.value), as_float(doubt))


def _operate(sign: str, left: Value, right: Value) -> Value:
    if sign in "+-":
        if left.dimension != right.dimension:
            raise NotCheckable("different kinds of quantity are added")
        number = _arithmetic(sign, left.number, right.number)
        return Value(number, left.doubt + right.doubt, left.dimension)
    if sign == "^":
        return _power(left, right)
    if sign == "/" and right.number == 0:
        raise NotCheckable("division by zero")
    number = _arithmetic(sign, left.number, right.number)
    dimension = times(left.dimension, right.dimension, Fraction(1 if sign == "*" else -1))
    if not left.doubt and not right.doubt:
        return Value(number, 0.0, dimension)
    a, b = abs(as_float(left.number)), abs(as_float(right.number))
    if sign == "*":
        doubt = a * right.doubt + b * left.doubt + left.doubt * right.doubt
    else:
        if right.doubt >= b:
            raise NotCheckable("the divisor may be zero")
        doubt = (left.doubt + abs(as_float(number)) * right.doubt) / (b - right.doubt)
    return Value(number, as_float(doubt), dimension)


def _arithmetic(sign: str, left: Fraction | float, right: Fraction | float) -> Fraction | float:
    if isinstance(left, float) or isinstance(right, float):
        left, right = as_float(left), as_float(right)
    operations: dict[str, Callable[[], Fraction | float]] = {
        "+": lambda: left + right,
        "-": lambda: left - right,
        "*": lambda: left * right,
        "/": lambda: left / right,
    }
    try:
        return _bounded(operations[sign]())
    except (OverflowError, ZeroDivisionError):
        raise NotCheckable("too large, or a division by zero") from None


def _power(base: Value, exponent: Value) -> Value:
    if exponent.dimension != DIMENSIONLESS:
        raise NotCheckable("an exponent with a unit")
    power = exponent.number
    if base.dimension != DIMENSIONLESS and not isinstance(power, Fraction):
        raise NotCheckable("a unit to an irrational power")
    number = _raised(base.number, power)
    dimension = times(DIMENSIONLESS, base.dimension, power) if isinstance(power, Fraction) else DIMENSIONLESS
    if not base.doubt and not exponent.doubt:
        return Value(number, 0.0, dimension)
    corners = []
    for a in (as_float(base.number) - base.doubt, as_float(base.number) + base.doubt):
        for b in (as_float(power) - exponent.doubt, as_float(power) + exponent.doubt):
            # exact exponents stay exact, so that a negative base keeps its integer power
            corners.append(as_float(_raised(a, power if not exponent.doubt else b)))
    middle = as_float(number)
    return Value(number, as_float(max(abs(corner - middle) for corner in corners)), dimension)


def _raised(base: Fraction | float, power: Fraction | float) -> Fraction | float:
    if base == 0 and power <= 0:
        raise NotCheckable("zero to the power of zero or less")
    if isinstance(base, Fraction) and isinstance(power, Fraction):
        if power.denominator == 1:
            bits = max(base.numerator.bit_length(), base.denominator.bit_length())
            if abs(power) * max(bits, 1) > MAX_BITS:
                raise NotCheckable("too large")
            return _bounded(base ** int(power))
        exact = _exact_root(base, power)
        if exact is not None:
            return exact
    whole = isinstance(power, Fraction) and power.denominator == 1
    if base < 0 and not whole:
        raise NotCheckable("a root of a negative number")
    try:
        raised = as_float(base) ** (int(power) if whole else as_float(power))
    except (OverflowError, ZeroDivisionError):
        raise NotCheckable("too large") from None
    return as_float(raised)


def _exact_root(base: Fraction, power: Fraction) -> Fraction | None:
    """Return base**power where it is rational and small, for roots such as sqrt(49/4)."""
    degree, outer = power.denominator, power.numerator
    if base < 0 or degree > 6 or abs(outer) > 12:
        return None
    parts = []
    for part in (base.numerator, base.denominator):
        if part.bit_length() > 512:
            return None
        root = math.isqrt(part) if degree == 2 else round(as_float(Fraction(part)) ** (1 / degree))
        if root**degree != part:
            return None
        parts.append(root)
    return _bounded_exact(Fraction(*parts) ** outer)


_FUNCTIONS: dict[str, Callable[[float], float]] = {
    **{name: getattr(math, name) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp")},
    "arcsin": math.asin,
    "arccos": math.acos,
    "arctan": math.atan,
    "ln": math.log,
    "log": math.log10,
}


def _call(function: str, body: Value) -> Value:
    if body.dimension != DIMENSIONLESS:
        raise NotCheckable("a function of a quantity with a unit")
    if function == "!":
        if (
            not isinstance(body.number, Fraction)
            or body.number.denominator != 1
            or not 0 <= body.number <= MAX_FACTORIAL
        ):
            raise NotCheckable("a factorial out of bounds")
        return Value(_bounded(Fraction(math.factorial(int(body.number)))))
    if function == "degrees":
        factor = math.pi / 180
        return Value(as_float(body.number) * factor, body.doubt * factor)
    middle = _applied(function, as_float(body.number))
    if not body.doubt:
        return Value(middle)
    ends = [_applied(function, as_float(body.number) + side * body.doubt) for side in (-1, 1)]
    return Value(middle, as_float(max(abs(end - middle) for end in ends)))


def _applied(function: str, argument: float) -> float:
    try:
        return as_float(_FUNCTIONS[function](argument))
    except (ValueError, OverflowError, KeyError):
        raise NotCheckable(f"{function} is not defined there") from None
