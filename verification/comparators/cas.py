"""The process that asks the computer algebra system: reads one question a line, answers one a line.

Run as `python -m verification.comparators.cas SECONDS MEGABYTES`. Formulas are read by our own parser, never
by sympy's, which evaluates what it reads. The limits are set before the first question.
"""

from __future__ import annotations

import json
import random
import resource
import sys
from collections.abc import Callable
from typing import Any

from verification.comparators.expressions import Tree, Unreadable, is_ambiguous, parse, sides

POINTS = 6
DIGITS = 30
MAX_EXPONENT = 200

Answer = tuple[str, str]


def limit(seconds: int, megabytes: int) -> None:
    """Bound the processor time and the memory of this process, and let it write no file."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Algebra:
    """Builds sympy's objects from our trees and compares them."""

    def __init__(self) -> None:
        import sympy  # type: ignore[import-untyped]  # half a second: only this process pays it

        self.sympy = sympy

    def build(self, tree: Tree, *, positive: bool) -> Any:
        """Return sympy's object of a tree."""
        sympy = self.sympy
        kind = tree[0]
        if kind == "number":
            return sympy.Rational(tree[1])
        if kind == "name":
            if tree[1] == "pi":
                return sympy.pi
            return sympy.Symbol(tree[1], positive=True) if positive else sympy.Symbol(tree[1])
        if kind == "^" and tree[1] == ("name", "e"):
            return sympy.exp(self.build(tree[2], positive=positive))
        if kind == "call":
            return getattr(sympy, tree[1])(self.build(tree[2], positive=positive))
        parts = [self.build(part, positive=positive) for part in tree[1:]]
        if kind in ("^", "!") and parts[-1].is_number and abs(parts[-1]) > MAX_EXPONENT:
            raise Unreadable(f"a power or factorial above {MAX_EXPONENT}")
        if kind == "/" and parts[1].is_zero:
            raise Unreadable("a division by zero")
        operations: dict[str, Callable[..., Any]] = {
            "+": lambda a, b: a + b,
            "-": lambda a, b: a - b,
            "*": lambda a, b: a * b,
            "/": lambda a, b: a / b,
            "^": lambda a, b: a**b,
            "neg": lambda a: -a,
            "root": lambda a, n: a ** (1 / n),
            "!": sympy.factorial,
            "abs": sympy.Abs,
        }
        return operations[kind](*parts)

    def compare(self, key: str, answer: str, *, positive: bool) -> Answer:
        """Return ("equal" | "different" | "undecided", reason); `positive`: all symbols stand for such numbers."""
        try:
            left, right = expression_of(key), expression_of(answer)
        except Unreadable as error:
            return "undecided", f"the key is no formula: {error}" if not _reads(key) else str(error)
        readings = {
            self.compare_trees(parse(left, tight=a), parse(right, tight=b), positive=positive)
            for a in {False, is_ambiguous(left)}
            for b in {False, is_ambiguous(right)}
        }
        if len({verdict for verdict, _ in readings}) > 1:
            return "undecided", "a slash can be read in two ways, and they differ"
        return min(readings)

    def compare_trees(self, left: Tree, right: Tree, *, positive: bool) -> Answer:
        """Compare two formulas; what differs for positive symbols differs, what is equal only for them may not be."""
        sympy = self.sympy
        a, b = self.build(left, positive=True), self.build(right, positive=True)
        for name, side in (("key", a), ("answer", b)):
            if side.has(sympy.zoo, sympy.nan, sympy.oo):
                return "undecided", f"the {name} has no finite value"
        difference = a - b
        if difference == 0 or (same := sympy.simplify(difference)) == 0:
            return self.everywhere(left, right, positive=positive)
        mine, theirs = sorted(map(str, a.free_symbols)), sorted(map(str, b.free_symbols))
        if mine != theirs:
            strange = ", ".join(sorted(set(mine) ^ set(theirs)))
            return "undecided", f"only one of the two has {strange}: it may be another name for something"
        return self.at_points(same, a, b)

    def everywhere(self, left: Tree, right: Tree, *, positive: bool) -> Answer:
        """Judge two formulas that are equal for positive symbols."""
        sympy = self.sympy
        free = self.build(left, positive=False) - self.build(right, positive=False)
        if free == 0 or sympy.simplify(free) == 0:
            return "equal", "the difference simplifies to 0"
        if positive:
            return "equal", "the difference simplifies to 0, all symbols being positive"
        return "undecided", "equal if all symbols are positive, which the rule does not say"

    def at_points(self, difference: Any, a: Any, b: Any) -> Answer:
        """Look for a point where the difference is surely not 0."""
        sympy = self.sympy
        symbols = sorted(difference.free_symbols | a.free_symbols | b.free_symbols, key=str)
        source = random.Random(0)  # noqa: S311 - points to try, not secrets
        met = 0
        for _ in range(POINTS if symbols else 1):
            point = {one: sympy.Rational(source.randint(3, 40), source.randint(2, 15)) for one in symbols}
            values = [sympy.N(side.subs(point), DIGITS) for side in (a, b)]
            if not all(value.is_number and value.is_finite for value in values):
                continue
            met += 1
            gap = abs(complex(values[0]) - complex(values[1]))
            scale = max(abs(complex(values[0])), abs(complex(values[1])), 1e-300)
            if gap > 1e-9 * scale:
                where = ", ".join(f"{name} = {value}" for name, value in point.items())
                shown = " and ".join(str(sympy.N(value, 6)) for value in values)
                return "different", f"the key and the answer are {shown}" + (f" at {where}" if where else "")
        if met:
            return "undecided", f"equal at {met} points tried, but the difference does not simplify to 0"
        return "undecided", "no point was found where both have a value"


def expression_of(text: str) -> str:
    """Return the formula of an answer: what stands right of `E =`; Unreadable for a true equation."""
    parts = [part.strip() for part in sides(text)]
    if len(parts) == 1:
        parse(parts[0])
        return parts[0]
    if len(parts) == 2 and parse(parts[0])[0] == "name":
        parse(parts[1])
        return parts[1]
    raise Unreadable("an equation with more than a name on its left")


def _reads(text: str) -> bool:
    try:
        expression_of(text)
    except Unreadable:
        return False
    return True


def main() -> None:
    """Answer questions until the input ends."""
    limit(int(sys.argv[1]), int(sys.argv[2]))
    algebra = Algebra()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    for line in sys.stdin:
        key, answer, positive = json.loads(line)
        try:
            verdict, reason = algebra.compare(key, answer, positive=positive)
        except Unreadable as error:
            verdict, reason = "undecided", str(error)
        except (MemoryError, RecursionError):
            verdict, reason = "undecided", "too large for the computer algebra system"
        except Exception as error:  # sympy raises whatever its many authors chose
            verdict, reason = "undecided", f"the computer algebra system gave up ({type(error).__name__})"
        sys.stdout.write(json.dumps([verdict, reason]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
