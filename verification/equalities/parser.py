"""A parser that gives every sensible reading of one side of an equality."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from verification.equalities.tokens import Token, number_value
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
from verification.equalities.units import UnitFactor, unit_named

MAX_DEPTH = 60
"""Deepest nesting of brackets, fractions, powers and signs that is read."""
MAX_TOKENS = 300
"""Longest side, in tokens, that is read."""
MAX_AMBIGUITIES = 4
"""At most this many ambiguities of one side are read both ways; a side with more is not checked."""

# Ambiguities, each read both ways; an equality is false only if it is false in every reading:
#   tight     6/2(3): 1 or 9                 minus     -2^2: -4 or 4
#   mixed     3 \frac{1}{2}: 3.5 or 1.5      percent   0.25 * 100 = 25%: a share, or the number 25
#   radians   sin 30: degrees or radians     decade    log: to base 10 or e
#   tag       "= 7 (2)": a product, or the number of an equation
#   bullet    "- 3 + 4": a minus sign, or the mark of a list
#   comma     1,500: thousands, or a decimal comma        shriek   5!: a factorial, or an exclamation
#   per       m^3 / kg · s^2: everything after the slash below it, or only the next unit
#   power10   6 / 2 × 10^3: one number in scientific notation, or a product
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_ONE = Number(Fraction(1), Fraction(1), "integer")


def _percent(tree: Tree) -> Tree:
    """Divide by 100, keeping a printed number a printed number: 21.7% is rounded in its last digit."""
    if isinstance(tree, Number):
        style = {"integer": "short", "short": "decimal"}.get(tree.style, tree.style)
        return Number(tree.value / 100, tree.place / 100, style, tree.truncated)
    return Operation("/", tree, Number(Fraction(100), Fraction(1), "integer"))


def readings(tokens: Sequence[Token]) -> list[Tree]:
    """Return every reading of a side, the usual one first. NotCheckable if it is not arithmetic."""
    if not tokens:
        raise NotCheckable("nothing there")
    if len(tokens) > MAX_TOKENS:
        raise NotCheckable("too long")
    first = _Parser(tokens, frozenset())
    trees = [first.parse()]
    met = sorted(first.met)
    if len(met) > MAX_AMBIGUITIES:
        raise NotCheckable("too ambiguous")
    for choice in list(product((False, True), repeat=len(met)))[1:]:
        chosen = frozenset(name for name, taken in zip(met, choice, strict=True) if taken)
        try:
            tree = _Parser(tokens, chosen).parse()
        except NotCheckable:
            continue
        if tree not in trees:
            trees.append(tree)
    return trees


class _Parser:
    """Recursive descent over one side; `chosen` holds the ambiguities that are read the second way."""

    def __init__(self, tokens: Sequence[Token], chosen: frozenset[str]) -> None:
        self.tokens = tokens
        self.chosen = chosen
        self.met: set[str] = set()
        self.place = 0
        self.depth = 0

    def parse(self) -> Tree:
        tree = self.sum()
        if self.place != len(self.tokens):
            raise NotCheckable(f"cannot read {self.tokens[self.place].text!r}")
        return tree

    # -- helpers ---------------------------------------------------------------------------------
    def ahead(self, offset: int = 0) -> Token | None:
        place = self.place + offset
        return self.tokens[place] if place < len(self.tokens) else None

    def sees(self, kind: str, *texts: str, offset: int = 0) -> bool:
        token = self.ahead(offset)
        return token is not None and token.kind == kind and (not texts or token.text in texts)

    def second(self, ambiguity: str) -> bool:
        self.met.add(ambiguity)
        return ambiguity in self.chosen

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise NotCheckable("nested too deeply")

    # -- grammar ---------------------------------------------------------------------------------
    def sum(self) -> Tree:
        self.deeper()
        if self.sees("bullet"):
            self.place += 1
            tree = Negative(self.term()) if self.second("bullet") else self.term()
        else:
            tree = self.term()
        while self.sees("operator", "+", "-"):
            sign = self.tokens[self.place].text
            self.place += 1
            tree = Operation(sign, tree, self.term())
        self.depth -= 1
        return tree

    def term(self) -> Tree:
        tree = self.factor()
        divided = False
        while True:
            if self.sees("operator", "*", "/") or self.letter_times():
                sign = "/" if self.sees("operator", "/") else "*"
                self.place += 1
                right = self.factor()
                while sign == "/" and self.implicit_follows(right) and self.second("tight"):
                    right = Operation("*", right, self.power())
                divided = sign == "/"
                tree = Operation(sign, tree, right)
            elif self.implicit_follows(tree):
                if self.is_tag() and self.second("tag"):
                    self.place += 3
                    continue
                if divided:
                    self.met.add("tight")
                tree = self.juxtaposed(tree)
            else:
                return tree

    def juxtaposed(self, tree: Tree) -> Tree:
        """Multiply by what stands next to `tree`; a whole number before a fraction may be a mixed number."""
        mixed = isinstance(tree, Number) and tree.style == "integer" and self.sees("command", "frac")
        right = self.power()
        return Operation("+" if mixed and self.second("mixed") else "*", tree, right)

    def letter_times(self) -> bool:
        """Read `3 x 4` as a product: the letter x between two numbers."""
        return (
            self.sees("name", "x", "X")
            and self.sees("number", offset=1)
            and self.place > 0
            and self.tokens[self.place - 1].kind in ("number", "close", "unit")
        )

    def implicit_follows(self, left: Tree) -> bool:
        token = self.ahead()
        if token is None:
            return False
        if token.kind == "number":
            # "3 4" is no product; ")4" and "}0.9" are
            previous = self.tokens[self.place - 1]
            return previous.kind in ("close", "degree") and not isinstance(left, Number)
        if token.kind == "open":
            previous = self.tokens[self.place - 1]
            if previous.kind == "name":
                raise NotCheckable("a function of something")
            if (
                previous.kind == "number"
                and not token.spaced
                and "." in previous.text
                and self.is_uncertainty()
            ):
                raise NotCheckable("digits in brackets may be an uncertainty")
            return True
        return token.kind in ("command", "name")

    def is_uncertainty(self) -> bool:
        return (
            self.sees("number", offset=1)
            and self.sees("close", offset=2)
            and self.tokens[self.place + 1].text.isdigit()
        )

    def is_tag(self) -> bool:
        """Tell whether a whole number in brackets, set off by a space, ends the side: an equation number."""
        token = self.ahead()
        return (
            token is not None
            and token.kind == "open"
            and token.text in "(["
            and token.spaced
            and self.is_uncertainty()
            and self.place + 3 == len(self.tokens)
        )

    def factor(self) -> Tree:
        if self.sees("operator", "-", "+"):
            self.deeper()
            sign = self.tokens[self.place].text
            self.place += 1
            if (
                sign == "-"
                and self.sees("number")
                and self.sees("operator", "^", offset=1)
                and self.second("minus")
            ):
                tree = self.power(negative=True)
            else:
                tree = Negative(self.factor()) if sign == "-" else self.factor()
            self.depth -= 1
            return tree
        return self.power()

    def power(self, *, negative: bool = False) -> Tree:
        base = self.postfix()
        if negative:
            base = Negative(base)
        if self.sees("operator", "^"):
            self.place += 1
            base = Operation("^", base, self.exponent())
            base = self.with_units(base)
        return base

    def exponent(self) -> Tree:
        self.deeper()
        if self.sees("operator", "-", "+"):
            sign = self.tokens[self.place].text
            self.place += 1
            tree = self.exponent()
            self.depth -= 1
            return Negative(tree) if sign == "-" else tree
        tree = self.primary()
        if self.sees("operator", "^"):
            self.place += 1
            tree = Operation("^", tree, self.exponent())
        self.depth -= 1
        return tree

    def postfix(self) -> Tree:
        tree = self.with_units(self.primary())
        while True:
            if self.sees("operator", "!"):
                self.place += 1
                tree = tree if self.second("shriek") else Call("!", tree)
            elif self.sees("operator", "%"):
                if self.sees("number", offset=1) or self.sees("open", offset=1):
                    raise NotCheckable("% may be a remainder")
                self.place += 1
                tree = tree if self.second("percent") else _percent(tree)
            elif self.sees("degree"):
                self.place += 1
                tree = Call("degrees", tree)
            else:
                return tree

    # -- units -----------------------------------------------------------------------------------
    def unit_at(self, offset: int = 0) -> UnitFactor | None:
        token = self.ahead(offset)
        if token is None or token.kind not in ("unit", "name", "word") or not token.roman:
            return None
        return unit_named(token.text)

    def with_units(self, tree: Tree) -> Tree:
        """Multiply by the units that follow: `kg m^2/s^2`, `J mol^{-1} K^{-1}`, `\\frac{m}{s}`."""
        below = False
        slashes = 0
        while True:
            sign = "*"
            skip = 0
            if self.sees("operator", "*", "/"):
                sign, skip = self.tokens[self.place].text, 1
            if sign == "/" and self.sees("open", "(", "{", offset=1) and self.unit_at(2):
                self.place += 1
                tree = Operation("/", tree, self.primary())
                continue
            unit = self.unit_at(skip)
            if unit is None:
                return tree
            self.place += skip + 1
            factor: Tree = Unit(unit)
            if self.sees("operator", "^"):
                self.place += 1
                factor = Operation("^", factor, self.exponent())
            if sign == "/":
                slashes += 1
                below = True
            elif below and slashes == 1 and self.second("per"):
                sign = "/"
            tree = Operation(sign, tree, factor)

    # -- primaries -------------------------------------------------------------------------------
    def primary(self) -> Tree:
        token = self.ahead()
        if token is None:
            raise NotCheckable("it breaks off")
        self.deeper()
        self.place += 1
        tree: Tree
        if token.kind == "number":
            tree = self.number(token)
        elif token.kind == "open":
            tree = self.bracket(token)
        elif token.kind == "command":
            tree = self.command(token)
        elif (unit := self.unit_alone(token)) is not None:
            tree = Unit(unit)
        elif token.kind == "name":
            tree = self.name(token)
        else:
            raise NotCheckable(f"cannot read {token.text!r}")
        self.depth -= 1
        return tree

    def unit_alone(self, token: Token) -> UnitFactor | None:
        """Read a unit without a number, as in `(kg m^2/s^2)^{1/2}`: only in brackets or after * and /."""
        before = self.tokens[self.place - 2] if self.place >= 2 else None
        if before is None or not token.roman or token.kind not in ("name", "word", "unit"):
            return None
        is_after = before.kind == "open" or (before.kind == "operator" and before.text in "*/")
        return unit_named(token.text) if is_after else None

    def name(self, token: Token) -> Tree:
        if token.text == "e" and self.sees("operator", "^"):
            # e^2 is as often the square of the elementary charge
            brace = 1 if self.sees("open", "{", offset=1) else 0
            if not (
                self.sees("number", "2", offset=1 + brace) and (not brace or self.sees("close", offset=3))
            ):
                return Constant("e")
        return Name(token.text)

    def bracket(self, token: Token) -> Tree:
        tree = self.sum()
        if not self.sees("close", _CLOSING[token.text]):
            raise NotCheckable("brackets do not match")
        self.place += 1
        return tree

    def number(self, token: Token) -> Tree:
        text = token.text
        value, place, style = number_value(text)
        if text.count(",") == 1 and "." not in text and "{" not in text and self.second("comma"):
            value, place, style = number_value(text.replace(",", "."))
        truncated = False
        if self.sees("ellipsis"):
            self.place += 1
            truncated = True
        if (
            self.sees("operator", "*")
            and self.sees("number", "10", offset=1)
            and self.sees("operator", "^", offset=2)
        ):
            before = self.tokens[self.place - 2] if self.place >= 2 else None
            divides = before is not None and before.kind == "operator" and before.text == "/"
            if not (divides and self.second("power10")):
                exponent = self.scientific_exponent()
                if exponent is not None:
                    scale = Fraction(10) ** exponent
                    style = "integer" if style == "integer" else "scientific"
                    return Number(value * scale, place * scale, style, truncated)
        return Number(value, place, style, truncated)

    def scientific_exponent(self) -> int | None:
        """Read `* 10^k` with a whole k; None, with nothing read, if it is something else."""
        start = self.place
        self.place += 3
        try:
            tree = self.exponent()
        except NotCheckable:
            self.place = start
            raise
        negative = isinstance(tree, Negative)
        body = tree.body if isinstance(tree, Negative) else tree
        if isinstance(body, Number) and body.style == "integer" and body.value <= 400:
            return -int(body.value) if negative else int(body.value)
        self.place = start
        return None

    def command(self, token: Token) -> Tree:
        name = token.text
        if name == "pi":
            return Constant("pi")
        if name == "frac":
            return self.fraction()
        if name == "sqrt":
            return self.root()
        power: Tree | None = None
        if self.sees("operator", "^"):
            self.place += 1
            power = self.exponent()
            if isinstance(power, Negative):
                raise NotCheckable("an inverse function, or a power")
        if name == "log" and self.second("decade"):
            name = "ln"
        tree: Tree = Call(name, self.argument(name))
        return Operation("^", tree, power) if power is not None else tree

    def argument(self, name: str) -> Tree:
        bracketed = self.sees("open")
        if (
            self.sees("number")
            and self.sees("operator", "*", offset=1)
            and self.sees("number", "10", offset=2)
        ):
            raise NotCheckable("it is not plain where the argument ends")
        body = self.postfix() if not self.sees("operator", "-") else self.factor()
        if not bracketed:
            token = self.ahead()
            after_number = token is not None and (
                token.kind in ("open", "command", "name", "number")
                or (token.kind == "operator" and token.text in "^!")
            )
            if after_number:
                raise NotCheckable("it is not plain where the argument ends")
        if name in ("sin", "cos", "tan") and not isinstance(body, Call) and self.second("radians"):
            return Call("degrees", body)
        return body

    def fraction(self) -> Tree:
        if self.sees("number"):
            digits = self.tokens[self.place].text
            if len(digits) == 2 and digits.isdigit():
                self.place += 1
                first, second = (Number(Fraction(int(digit)), Fraction(1), "integer") for digit in digits)
                return Operation("/", first, second)
            raise NotCheckable("a fraction without braces")
        above = self.group()
        return Operation("/", above, self.group())

    def group(self) -> Tree:
        if not self.sees("open", "{"):
            raise NotCheckable("a fraction without braces")
        token = self.tokens[self.place]
        self.place += 1
        inside = self.ahead()
        if inside is not None and self.unit_at() is not None:
            tree = self.with_units(_ONE)
            if not self.sees("close", "}"):
                raise NotCheckable("brackets do not match")
            self.place += 1
            return tree
        return self.bracket(token)

    def root(self) -> Tree:
        if self.sees("open", "["):
            token = self.tokens[self.place]
            self.place += 1
            degree = self.bracket(token)
            return Operation("^", self.group(), Operation("/", _ONE, degree))
        if not self.sees("open") and not self.sees("number"):
            raise NotCheckable("a root of something")
        body = self.primary()
        return Operation("^", body, Operation("/", _ONE, Number(Fraction(2), Fraction(1), "integer")))
