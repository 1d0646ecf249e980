"""Finds the equalities between numbers in a LaTeX step and says whether each holds to the digits printed."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator

_PRINTED = re.compile(
    r"\s*([+-]?)\s*(\d+(?:\.(\d+))?)\s*(?:\\times\s*10\^\{([+-]?\d+)\})?\s*(?:\\[ ,]|\\%|\s)*\Z"
)


def printed_number(text: str) -> tuple[float, float] | None:
    """Return (value, half a unit of its last digit) of a number in LaTeX, or None for anything else."""
    found = _PRINTED.match(text)
    if found is None:
        return None
    sign, digits, decimals, power = found.groups()
    scale = 10.0 ** int(power or 0)
    return float(sign + digits) * scale, 0.5 * 10.0 ** -len(decimals or "") * scale


class NotNumeric(Exception):
    """The formula holds something other than numbers and arithmetic."""


_TOKEN = re.compile(r"\s*(\d+(?:\.\d+)?|\\[A-Za-z]+|\\.|.)", re.S)
_DROPPED = {r"\,", r"\ ", r"\;", r"\!", r"\left", r"\right", r"\displaystyle", "$", "&"}
_UNIT = re.compile(r"\\(?:mathrm|text)\s*\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}(?:\^(?:\{[^{}]*\}|\d))?")
_BOX = re.compile(r"\\boxed\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}")
_FUNCTIONS: dict[str, Callable[[float], float]] = {
    r"\ln": math.log,
    r"\tanh": math.tanh,
    r"\cosh": math.cosh,
    r"\sinh": math.sinh,
    r"\operatorname{arsinh}": math.asinh,
}


_STARTS = {"(", "e", r"\pi", r"\sqrt", r"\frac", r"\dfrac", r"\tfrac"}


class _Arithmetic:
    """Recursive descent over numbers, + - * / ^, brackets, fractions, roots and a few functions."""

    def __init__(self, text: str) -> None:
        text = _UNIT.sub(" ", text.replace(r"\operatorname{arsinh}", r"\arsinh "))
        self.tokens = [t for t in _TOKEN.findall(text) if t.strip() and t not in _DROPPED]
        self.at = 0

    def value(self) -> float:
        if not self.tokens:
            raise NotNumeric
        result = self._sum()
        if self.at < len(self.tokens):
            raise NotNumeric
        return result

    def _peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def _take(self, expected: str = "") -> str:
        token = self._peek()
        if not token or (expected and token != expected):
            raise NotNumeric
        self.at += 1
        return token

    def _sum(self) -> float:
        sign = -1.0 if self._peek() == "-" else 1.0
        if self._peek() in ("+", "-"):
            self._take()
        total = sign * self._product()
        while self._peek() in ("+", "-"):
            sign = 1.0 if self._take() == "+" else -1.0
            total += sign * self._product()
        return total

    def _product(self) -> float:
        result = self._power()
        while True:
            token = self._peek()
            if token in (r"\times", r"\cdot"):
                self._take()
                factor = -self._power() if self._peek() == "-" and self._take() else self._power()
                result *= factor
            elif token == "/":
                self._take()
                result /= self._power()
            elif token and (token[0].isdigit() or token in _STARTS or token in _FUNCTIONS):
                result *= self._power()
            else:
                return result

    def _power(self) -> float:
        base = self._atom()
        if self._peek() == "^":
            self._take()
            base = base ** self._group()
        return base

    def _group(self) -> float:
        if self._peek() == "{":
            self._take()
            value = self._sum()
            self._take("}")
            return value
        token = self._take()
        if not token[0].isdigit():
            raise NotNumeric
        if len(token) > 1 and self.tokens[self.at - 2] != "^":  # \frac12 is one half
            self.at -= 1
            self.tokens[self.at : self.at + 1] = [token[0], token[1:]]
            self.at += 1
            return float(token[0])
        return float(token)

    def _atom(self) -> float:
        token = self._take()
        if token[0].isdigit():
            return float(token)
        if token == "(":
            value = self._sum()
            self._take(")")
            return value
        if token == "{":
            value = self._sum()
            self._take("}")
            return value
        if token in (r"\frac", r"\dfrac", r"\tfrac"):
            above = self._group()
            return above / self._group()
        if token == r"\sqrt":
            return math.sqrt(self._group())
        if token == r"\pi":
            return math.pi
        if token == "e":
            return math.e
        name = token if token in _FUNCTIONS else token.replace(r"\arsinh", r"\operatorname{arsinh}")
        if name in _FUNCTIONS:
            power: float = 1.0
            if self._peek() == "^":
                self._take()
                power = self._group()
            return math.pow(_FUNCTIONS[name](self._power()), power)
        raise NotNumeric


def evaluate(latex: str) -> float:
    """Return the value of an arithmetical LaTeX formula with its units dropped; raise NotNumeric."""
    try:
        return _Arithmetic(latex).value()
    except (ZeroDivisionError, OverflowError, ValueError) as error:
        raise NotNumeric from error


def _slack(latex: str) -> float:
    """Return how far an expression may be off because of the rounding of the decimals printed in it."""
    number = printed_number(re.sub(r"[.,;\s]+\Z", "", _UNIT.sub("", latex)))
    if number is not None:
        return number[1]
    total, value = 0.0, evaluate(latex)
    for found in re.finditer(r"\d+\.(\d+)", latex):
        moved = f"{float(found[0]) + 0.5 * 10.0 ** -len(found[1]):.12f}"
        total += abs(evaluate(latex[: found.start()] + moved + latex[found.end() :]) - value)
    return total


def formulas(step: str) -> Iterator[str]:
    """Yield the formulas of a step, each line and each \\qquad-separated part of it by itself."""
    for found in re.finditer(r"\$\$(.+?)\$\$|\$(.+?)\$", step, re.S):
        yield from re.split(r"\\qquad|\\\\|\\quad|\\Rightarrow", found[1] or found[2])


def numeric_equalities(step: str) -> Iterator[tuple[str, bool]]:
    """Yield every equality between numbers that a step states, with whether it holds as printed.

    Right of "=" or an approximate sign a printed number must be the left side rounded to its digits.
    """
    for formula in formulas(step):
        parts = re.split(r"(=|\\approx|<|>)", _BOX.sub(r"\1", formula))
        for left, sign, right in zip(parts[0::2], parts[1::2], parts[2::2], strict=False):
            right = re.sub(r"[.,;\s]+\Z", "", right)
            try:
                a, b = evaluate(left.strip()), evaluate(right)
            except NotNumeric:
                continue
            if sign == "=":  # exact, or exact up to binary arithmetic
                holds = math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-15)
            elif sign == r"\approx":
                holds = abs(a - b) <= _slack(right) + 1e-9 * abs(b)
            else:
                holds = a < b if sign == "<" else a > b
            yield f"{left.strip()} {sign} {right}", holds
