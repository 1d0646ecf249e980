"""A small parser of formulas, in LaTeX or plain: text in, a tree of plain tuples out; nothing is evaluated.

Trees: ("number", "1.5"), ("name", "v_0"), ("+", a, b), ("-", a, b), ("*", a, b), ("/", a, b), ("^", a, b),
("neg", a), ("call", "sin", a), ("root", a, n), ("!", a), ("abs", a).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

MAX_CHARACTERS = 2_000
MAX_TOKENS = 500
MAX_DEPTH = 50
MAX_DIGITS = 40

Tree = tuple[Any, ...]


class Unreadable(Exception):
    """A text that is no formula to this parser; the text says at which sign it gave up."""


FUNCTIONS = {
    **{name: name for name in ("sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh", "exp")},
    **{name: "a" + name[-3:] for name in ("arcsin", "arccos", "arctan", "asin", "acos", "atan")},
    **{"ln": "log", "log": "log", "coth": "coth", "sqrt": "sqrt", "abs": "abs"},
}
VARIANTS = {"varepsilon": "epsilon", "vartheta": "theta", "varphi": "phi", "varrho": "rho"}
LETTERS = {
    letter: name.title() if letter.isupper() else name
    for letter in "αβγδεζηθικλμνξρστυφχψωΓΔΘΛΞΣΥΦΨΩ"
    for name in [unicodedata.name(letter).split()[-1].lower().replace("lamda", "lambda")]
}
GREEK = {*LETTERS.values(), *VARIANTS}
NAMES = {"hbar", "ell", "ℓ"}
SPACES = re.compile(
    r"\\(?:left|right|bigl?|bigr?|Bigl?|Bigr?|displaystyle|quad|qquad|limits|!|,|;|:| )(?![A-Za-z])"
    r"|\$|\\[()\[\]]|[\s~]+"
)
ROMAN = re.compile(r"\\(?:mathrm|text|textrm|operatorname|mathit|mathbf|rm)\s*\{([A-Za-z ]{1,30})\}")
TOKEN = re.compile(
    r"(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d{1,3}(?![A-Za-z\d]))?|\.\d+)"
    r"|\\(?P<command>[A-Za-z]+)|(?P<word>[A-Za-zℓℏ]+)|(?P<greek>[α-ωΑ-Ω])"
    r"|(?P<sup>[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+)|(?P<sign>\*\*|[-+*/^(){}\[\]|!_=−·×÷√'])"
)
SAME = {"−": "-", "·": "*", "×": "*", "÷": "/", "**": "^"}
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
CLOSING = {"(": ")", "[": "]", "{": "}"}


def tokenise(text: str) -> list[tuple[str, str]]:
    """Return (kind, text) of each token; Unreadable for what has no place in a formula."""
    if len(text) > MAX_CHARACTERS:
        raise Unreadable(f"longer than {MAX_CHARACTERS} characters")
    text = ROMAN.sub(lambda match: " " + match.group(1).replace(" ", "") + " ", text)
    tokens: list[tuple[str, str]] = []
    place = 0
    while place < len(text):
        blank = SPACES.match(text, place)
        if blank:
            place = blank.end()
            continue
        match = TOKEN.match(text, place)
        if match is None:
            raise Unreadable(f"cannot read {text[place : place + 12]!r}")
        place = match.end()
        tokens += _tokens_of(str(match.lastgroup), match.group(str(match.lastgroup)))
        if len(tokens) > MAX_TOKENS:
            raise Unreadable(f"more than {MAX_TOKENS} signs")
    return tokens


def _tokens_of(kind: str, text: str) -> list[tuple[str, str]]:
    if kind == "number":
        if len(text) > MAX_DIGITS:
            raise Unreadable("a number of very many digits")
        return [("number", text)]
    if kind == "greek":
        return [("name", "pi" if text == "π" else LETTERS.get(text, text))]
    if kind == "sup":
        return [("sign", "^"), ("sign", "("), *tokenise(text.translate(SUPERSCRIPTS)), ("sign", ")")]
    if kind == "sign":
        if text == "√":
            return [("function", "sqrt")]
        return [("sign", SAME.get(text, text))]
    if kind == "command":
        return [_command(text)]
    if text == "ℏ":
        return [("name", "hbar")]
    if text in FUNCTIONS:
        return [("function", FUNCTIONS[text])]
    if text in GREEK or text == "pi" or text in NAMES:
        return [("name", VARIANTS.get(text, text))]
    # "mgh" is a product of three quantities, as in a formula that is set
    return [("name", letter) for letter in text]


def _command(name: str) -> tuple[str, str]:
    if name in FUNCTIONS:
        return ("function", FUNCTIONS[name])
    if name in GREEK or name == "pi" or name in NAMES:
        return ("name", VARIANTS.get(name, name))
    if name in ("cdot", "times", "ast"):
        return ("sign", "*")
    if name == "div":
        return ("sign", "/")
    if name in ("frac", "dfrac", "tfrac"):
        return ("frac", name)
    raise Unreadable(f"cannot read \\{name}")


def parse(text: str, *, tight: bool = False) -> Tree:
    """Return the tree of a formula; Unreadable if it is none.

    `tight` reads 1/2x as 1/(2x), else as (1/2)x: what stands without a sign after a slash is ambiguous.
    """
    parser = _Parser(tokenise(text), tight)
    tree = parser.sum()
    if parser.place != len(parser.tokens):
        raise Unreadable(f"cannot read {parser.tokens[parser.place][1]!r} there")
    return tree


def is_ambiguous(text: str) -> bool:
    """Tell whether the two readings of a slash differ; Unreadable if the text is no formula."""
    return parse(text) != parse(text, tight=True)


def sides(text: str) -> list[str]:
    """Cut a text at its equality signs."""
    return re.split(r"(?<![<>!:=])=(?!=)", text)


class _Parser:
    def __init__(self, tokens: Sequence[tuple[str, str]], tight: bool) -> None:
        self.tokens = tokens
        self.tight = tight
        self.place = 0
        self.depth = 0
        self.bars = 0

    def sees(self, *signs: str) -> bool:
        return self.place < len(self.tokens) and self.tokens[self.place] in [("sign", sign) for sign in signs]

    def kind(self) -> str:
        return self.tokens[self.place][0] if self.place < len(self.tokens) else "end"

    def take(self) -> tuple[str, str]:
        if self.place >= len(self.tokens):
            raise Unreadable("it breaks off")
        self.place += 1
        return self.tokens[self.place - 1]

    def expect(self, sign: str) -> None:
        if not self.sees(sign):
            raise Unreadable(f"{sign!r} is missing")
        self.place += 1

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Unreadable("nested too deeply")

    def sum(self) -> Tree:
        self.deeper()
        tree = self.term()
        while self.sees("+", "-"):
            sign = self.take()[1]
            tree = (sign, tree, self.term())
        self.depth -= 1
        return tree

    def term(self) -> Tree:
        tree = self.factor()
        while True:
            if self.sees("*"):
                self.place += 1
                tree = ("*", tree, self.factor())
            elif self.sees("/"):
                self.place += 1
                below = self.factor()
                while self.tight and self.joined():
                    below = ("*", below, self.power())
                tree = ("/", tree, below)
            elif self.joined():
                tree = ("*", tree, self.power())
            else:
                return tree

    def joined(self) -> bool:
        """Tell whether another factor follows without a sign."""
        if self.kind() == "number":
            if self.tokens[self.place - 1][0] == "number":
                raise Unreadable("two numbers side by side")
            return True
        return (
            self.kind() in ("name", "function", "frac")
            or self.sees("(", "[", "{")
            or (self.sees("|") and not self.bars)
        )

    def factor(self) -> Tree:
        if self.sees("-", "+"):
            self.deeper()
            sign = self.take()[1]
            tree = self.factor()
            self.depth -= 1
            return ("neg", tree) if sign == "-" else tree
        return self.power()

    def power(self) -> Tree:
        base = self.atom()
        while self.sees("!"):
            self.place += 1
            base = ("!", base)
        if self.sees("^"):
            self.place += 1
            self.deeper()
            exponent = self.group() if self.sees("{") else self.signed()
            self.depth -= 1
            return ("^", base, exponent)
        return base

    def signed(self) -> Tree:
        if self.sees("-"):
            self.place += 1
            return ("neg", self.power())
        return self.power()

    def group(self) -> Tree:
        opening = self.take()[1]
        bars, self.bars = self.bars, 0
        tree = self.sum()
        self.bars = bars
        self.expect(CLOSING[opening])
        return tree

    def atom(self) -> Tree:
        if self.sees("(", "[", "{"):
            return self.group()
        if self.sees("|"):
            self.place += 1
            self.bars += 1
            tree = self.sum()
            self.bars -= 1
            self.expect("|")
            return ("abs", tree)
        kind, text = self.take()
        if kind == "number":
            return ("number", text)
        if kind == "name":
            return ("name", text + self.subscript())
        if kind == "frac":
            above = self.argument()
            return ("/", above, self.argument())
        if kind == "function":
            return self.function(text)
        raise Unreadable(f"cannot read {text!r} there")

    def subscript(self) -> str:
        """Read what hangs below a name, or a digit right after a letter (v0 is v_0), and primes."""
        below = ""
        if self.sees("_"):
            self.place += 1
            if self.sees("{"):
                start = self.place
                while not self.sees("}"):
                    self.take()
                below = "".join(text for _, text in self.tokens[start + 1 : self.place])
                self.place += 1
            else:
                below = self.take()[1]
        elif self.kind() == "number" and self.tokens[self.place][1].isdigit():
            below = self.take()[1]
        while self.sees("'"):
            self.place += 1
            below += "'"
        return f"_{below}" if below else ""

    def argument(self) -> Tree:
        """Read the argument of a command: a group, or one sign (of \\frac12 one digit)."""
        if self.sees("{"):
            return self.group()
        kind, text = self.take()
        if kind == "number" and text.isdigit() and len(text) <= 2:
            if len(text) == 2:
                self.tokens = [*self.tokens[: self.place], ("number", text[1]), *self.tokens[self.place :]]
            return ("number", text[0])
        if kind == "name":
            return ("name", text)
        raise Unreadable(f"cannot read {text!r} there")

    def function(self, name: str) -> Tree:
        self.deeper()
        degree: Tree | None = None
        if name == "sqrt" and self.sees("["):
            degree = self.group()
        if self.sees("_"):
            raise Unreadable("a logarithm to another base")
        exponent: Tree | None = None
        if self.sees("^") and name != "sqrt":
            self.place += 1
            exponent = self.group() if self.sees("{") else self.signed()
            if exponent == ("neg", ("number", "1")):
                raise Unreadable("f^-1 may be the inverse or the reciprocal")
        if self.sees("(", "[", "{"):
            body = self.group()
        elif name in ("sqrt", "abs"):
            body = self.power()
        else:
            body = self.power()
            while self.joined() and self.kind() != "function":
                body = ("*", body, self.power())
        self.depth -= 1
        if name == "sqrt":
            return ("root", body, degree or ("number", "2"))
        tree: Tree = ("abs", body) if name == "abs" else ("call", name, body)
        return tree if exponent is None else ("^", tree, exponent)
