"""Cutting the text of a step into tokens: numbers, names, operators, relations, words and boundaries.

Plain text, Markdown and LaTeX are read by the same rules. Every token keeps its place in the text, so that a
finding can quote the equality as it was written. Nothing here raises on any text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction

from verification.equalities.notation import (
    BOUNDARY_COMMANDS,
    FUNCTIONS,
    INVISIBLE,
    OPERATOR_COMMANDS,
    OPERATORS,
    RELATION_COMMANDS,
    ROMAN,
    SUPERSCRIPTS,
)

MAX_DIGITS = 60
"""Longest number that is read; a longer one is not checked."""


@dataclass(frozen=True)
class Token:
    """One token; `text` is normalised (`*` for \\times), `start` and `end` are places in the step."""

    kind: str
    """number name word unit operator open close relation comma boundary row dollar degree ellipsis
    command (frac, sqrt, sin, ...) junk"""
    text: str
    start: int
    end: int
    roman: bool = True
    """False for a letter in a formula, which is never a unit."""
    spaced: bool = False
    """True when white space precedes."""


_PATTERN = re.compile(
    r"(?P<space>[ \t\xa0\u2000-\u200a\u202f~]+|\\[,;:! >])"
    r"|(?P<newline>[\r\n\x0b\x0c\x85\u2028\u2029]+[ \t]*)"
    r"|(?P<row>\\\\(?:\[[^\]\n]{0,12}\])?)"
    r"|(?P<dollar>\$\$?|\\[()\[\]])"
    r"|(?P<degree>\^\s{0,2}\\circ\b|\^\s{0,2}\{\s{0,2}\\circ\s{0,2}\}|\\degree\b|°|º)"
    r"|(?P<date>\d{4}-\d\d?-\d\d?(?!\d)|\d\d?:\d\d(?!\d))"
    r"|(?P<number>(?:\d{1,3}(?:(?:,|\{,\})\d{3})+(?!\d)|\d+)(?:\.\d+)?(?:[eE][+-]?\d{1,6}(?![\w.]))?"
    r"|\.\d+(?:[eE][+-]?\d{1,6}(?![\w.]))?)"
    r"|(?P<ellipsis>\\[lcd]?dots[bcmio]?\b|…|\.{2,})"
    r"|(?P<environment>\\(?:begin|end)\s{0,2}\{[^{}\n]{0,20}\}(?:\{[^{}\n]{0,20}\})?)"
    r"|(?P<command>\\[A-Za-z]+)"
    r"|(?P<escaped>\\.)"
    r"|(?P<superscript>[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)"
    r"|(?P<definition>:=|=:|≔)"
    r"|(?P<other>=>|⇒|→|⟹|⟶|->|<->|⇔)"
    r"|(?P<notequal>!=|=/=|<=|>=|=<|<<|>>|[<>≤≥≠∼∝≡≪≫≲≳∈])"
    r"|(?P<equal>==?|≈|≃|≅|⩵)"
    r"|(?P<power>\*\*|\^)"
    r"|(?P<bold>__)"
    r"|(?P<operator>[-+*/×·⋅∙•∗÷∕⁄−﹣!%])"
    r"|(?P<dash>[–—])"
    r"|(?P<open>[(\[{])"
    r"|(?P<close>[)\]}])"
    r"|(?P<word>[^\W\d_]+(?:['’][^\W\d_]+)?)"
    r"|(?P<stop>[.?](?=\s|$|\$|[\"'”’)\]}*_\\])|:(?!\d)|(?<!\d):|[;\"“”|])"
    r"|(?P<comma>,)"
    r"|(?P<subscript>_)"
    r"|(?P<align>&)"
    r"|(?P<junk>.)",
    re.DOTALL,
)
_LABEL = re.compile(
    r"[ \t*#>-]*(?:(?P<bracketed>\(\d{1,3}\))(?=\s)|\(?\d{1,3}[.)](?=\s)"
    r"|(?:step|case|part|eq|equation)\.?\s{0,2}\(?\d{1,3}\)?\s{0,2}[:.)])",
    re.IGNORECASE,
)
_BULLET = re.compile(r"[ \t>]*([-−–*+•])[ \t]+")
_CELSIUS = re.compile(r"\s{0,2}(?:\\(?:mathrm|text|rm)\s{0,2}\{\s{0,2}~?\s{0,2}([CF])\s{0,2}\}|([CF])\b)")


def number_value(text: str) -> tuple[Fraction, Fraction, str]:
    """Return a number's value, the size of one unit in its last printed digit, and how it is written.

    Written as: `integer` (no point), `short` (one digit after it), `decimal` (two or more), `scientific`.
    """
    mantissa, _, exponent = text.replace("{,}", "").replace(",", "").lower().partition("e")
    digits = len(mantissa.partition(".")[2])
    scale = Fraction(10) ** int(exponent or 0)
    style = "integer" if digits == 0 else "scientific" if exponent else "short" if digits == 1 else "decimal"
    return Fraction(mantissa) * scale, scale / 10**digits, style


def tokenise(text: str) -> list[Token]:
    """Return the tokens of a step's text, in order."""
    return _Reader(text).read()


def _braces(text: str) -> dict[int, int]:
    """Return the place of the closing brace for every opening one that has its match."""
    opened: list[int] = []
    closing = {}
    for match in re.finditer(r"(?<!\\)[{}]", text):
        if match.group() == "{":
            opened.append(match.start())
        elif opened:
            closing[opened.pop()] = match.start()
    return closing


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.closing = _braces(text)
        self.tokens: list[Token] = []
        self.in_formula = False
        self.in_dollars = False
        self.spaced = False
        # ends of roman groups being read: their braces are not brackets
        self.roman_until: list[int] = []

    def add(self, kind: str, text: str, start: int, end: int) -> None:
        roman = bool(self.roman_until) or not self.in_formula
        self.tokens.append(Token(kind, text, start, end, roman, self.spaced))
        self.spaced = False

    def read(self) -> list[Token]:
        place, size = 0, len(self.text)
        line_start = True
        while place < size:
            if self.roman_until and place >= self.roman_until[-1]:
                place = max(place, self.roman_until.pop() + 1)
                continue
            if line_start and (label := _LABEL.match(self.text, place)):
                # "(2) (3 + 4) = ..." may be a product: the bar leaves it unchecked
                doubtful = label["bracketed"] and re.compile(r"\s{1,9}[(\[{]").match(self.text, label.end())
                self.add("boundary", "|" if doubtful else "label", place, label.end())
                place, line_start = label.end(), False
                continue
            if line_start and not self.in_formula and (bullet := _BULLET.match(self.text, place)):
                # "- 3 + 4": a list's mark or a minus sign, so both are read later; other marks are only marks
                is_dash = bullet.group(1) in "-−–"
                self.add(
                    "bullet" if is_dash else "boundary",
                    "-" if is_dash else "label",
                    bullet.start(1),
                    bullet.end(1),
                )
                place, line_start = bullet.end(), False
                continue
            match = _PATTERN.match(self.text, place)
            if match is None:  # cannot happen: the last alternative takes any character
                place += 1
                continue
            kind = match.lastgroup or "junk"
            line_start = kind == "newline" or (line_start and kind in ("space", "align"))
            place = self.take(kind, match.group(), match.start(), match.end())
        return self.tokens

    def take(self, kind: str, text: str, start: int, end: int) -> int:
        """Add what the match stands for; return where to read on."""
        if kind == "space":
            self.spaced = True
        elif kind == "newline":
            self.newline(text, start, end)
        elif kind == "dollar":
            if (
                text == "$"
                and not self.in_dollars
                and self.text[end : end + 1].isdigit()
                and self.is_price(end)
            ):
                self.add("junk", text, start, end)
                return end
            if text.startswith("$"):
                self.in_dollars = not self.in_dollars
            self.in_formula = self.in_dollars or text in ("\\(", "\\[")
            self.add("dollar", text, start, end)
        elif kind == "number":
            return self.number(text, start, end)
        elif kind == "degree":
            celsius = _CELSIUS.match(self.text, end)
            if celsius:
                scale = celsius.group(1) or celsius.group(2)
                self.add("unit" if scale == "C" else "junk", "°" + scale, start, celsius.end())
                return celsius.end()
            self.add("degree", "°", start, end)
        elif kind == "command":
            return self.command(text[1:], start, end)
        elif kind == "escaped":
            self.escaped(text, start, end)
        elif kind == "superscript":
            self.superscript(text.translate(SUPERSCRIPTS), start, end)
        elif kind == "word":
            self.word(text, start, end)
        elif kind == "subscript":
            return self.subscript(start, end)
        else:
            self.simple(kind, text, start, end)
        return end

    def simple(self, kind: str, text: str, start: int, end: int) -> None:
        if kind in ("definition", "other", "stop"):
            self.add("boundary", "|" if text == "|" else text, start, end)
        elif kind == "notequal":
            self.add("relation", "?", start, end)
        elif kind == "equal":
            self.add("relation", "=" if text in ("=", "==", "⩵") else "≈", start, end)
        elif kind == "power":
            self.power(text, start, end)
        elif kind == "operator" and text == "!" and self.tokens and self.tokens[-1].kind == "word":
            self.add("boundary", text, start, end)
        elif kind == "operator":
            self.add("operator", OPERATORS.get(text, text), start, end)
        elif kind == "dash":
            # an en dash between spaces is a minus sign; without them it is a range
            minus = text == "–" and self.spaced and self.text[end : end + 1].isspace()
            self.add("operator" if minus else "junk", "-" if minus else text, start, end)
        elif kind == "row":
            self.add("row", text, start, end)
        elif kind == "align":
            if self.tokens and self.tokens[-1].kind == "row":
                self.tokens[-1] = replace(self.tokens[-1], text="\\\\&")
        elif kind == "environment":
            self.add("boundary", text, start, end)
        elif kind == "bold":
            self.spaced = True
        else:
            self.add("junk" if kind == "date" else kind, text, start, end)

    def power(self, text: str, start: int, end: int) -> None:
        """`**` between two operands is a power; anywhere else it is Markdown's bold."""
        after = self.text[end : end + 1]
        operand = bool(self.tokens) and self.tokens[-1].kind in ("number", "close", "name")
        if text == "^" or (
            operand and (self.spaced if after == " " else after.isdigit() or after in ("(", "-"))
        ):
            self.add("operator", "^", start, end)
        else:
            self.spaced = True

    def is_price(self, place: int) -> bool:
        """Tell a dollar sign of money from one that opens a formula, which another closes."""
        closing = self.text.find("$", place)
        if closing < 0:
            return True
        inside = self.text[place:closing].rstrip()
        return inside.endswith(("+", "-", "*", "/", "=", "×", "(")) or bool(
            re.search(r"[A-Za-z]{3}", inside) and "\\" not in inside
        )

    def newline(self, text: str, start: int, end: int) -> None:
        """A line end is a boundary, but not inside a formula, nor right after the row mark of an array."""
        if self.in_formula or (self.tokens and self.tokens[-1].kind == "row"):
            self.spaced = True
        else:
            self.add("row", "newline", start, end)

    def number(self, text: str, start: int, end: int) -> int:
        previous = self.text[start - 1 : start]
        joined = bool(previous) and (previous.isalnum() or previous == "." or previous == "_")
        after = self.text[end : end + 1]
        date_or_list = after in (",", ":") and self.text[end + 1 : end + 2].isdigit()
        version = after == "." and self.text[end + 1 : end + 2].isdigit()
        if (
            joined
            and self.tokens
            and self.tokens[-1].kind in ("name", "word")
            and self.tokens[-1].end == start
        ):
            last = self.tokens[-1]
            self.tokens[-1] = replace(last, kind="name", text=last.text + text, end=end)
        elif date_or_list or version or len(text) > MAX_DIGITS or (joined and previous == "."):
            self.add("junk", text, start, end)
        else:
            self.add("number", text, start, end)
        return end

    def superscript(self, text: str, start: int, end: int) -> None:
        self.add("operator", "^", start, start)
        self.add("open", "{", start, start)
        sign = text[0] if text[0] in "+-" else ""
        if sign:
            self.add("operator", sign, start, start + 1)
        digits = text[len(sign) :]
        self.add("number" if len(digits) < MAX_DIGITS else "junk", digits, start + len(sign), end)
        self.add("close", "}", end, end)

    def escaped(self, text: str, start: int, end: int) -> None:
        character = text[1]
        if character in "{}":
            self.add("open" if character == "{" else "close", character, start, end)
        elif character == "%":
            self.add("operator", "%", start, end)
        elif character.isspace():
            self.spaced = True
        else:
            self.add("junk", text, start, end)

    def word(self, text: str, start: int, end: int) -> None:
        lower = text.lower()
        if text in ("π", "pi"):
            self.add("command", "pi", start, end)
        elif lower in FUNCTIONS or lower == "sqrt":
            self.add("command", lower, start, end)
        elif text == "√":
            self.add("command", "sqrt", start, end)
        elif self.in_formula and not self.roman_until:
            self.add("name", text, start, end)
        else:
            self.add("name" if len(text) == 1 else "word", text, start, end)

    def subscript(self, start: int, end: int) -> int:
        """Join a subscript to the name before it; a subscript of anything else makes its side unreadable."""
        place = end
        while place < len(self.text) and self.text[place] == " ":
            place += 1
        if self.text[place : place + 1] == "{":
            closing = self.closing.get(place, -1)
            stop = closing + 1 if closing >= 0 else place + 1
        else:
            match = re.compile(r"\\[A-Za-z]+|[^\W_]+|.", re.DOTALL).match(self.text, place)
            stop = match.end() if match else place
        whole = self.text[end:stop]
        last = self.tokens[-1] if self.tokens else None
        if last is not None and last.kind in ("name", "word") and not self.spaced:
            self.tokens[-1] = replace(
                last, kind="name", text=f"{last.text}_{whole.strip('{} ')}", end=stop, roman=False
            )
        elif last is not None and last.kind == "command" and last.text == "log":
            self.add("junk", whole, start, stop)
        else:
            self.add("junk", "_" + whole, start, stop)
        return stop

    def command(self, name: str, start: int, end: int) -> int:
        if name in ROMAN:
            brace = end
            while self.text[brace : brace + 1] == " ":
                brace += 1
            closing = self.closing.get(brace, -1)
            if closing >= 0:
                self.roman_until.append(closing)
                return brace + 1
            return end
        if name in INVISIBLE:
            return end + 1 if self.text[end : end + 1] == "." and name in ("left", "right") else end
        if name in OPERATOR_COMMANDS:
            self.add("operator", OPERATOR_COMMANDS[name], start, end)
        elif name in RELATION_COMMANDS:
            self.add("relation", RELATION_COMMANDS[name], start, end)
        elif name in BOUNDARY_COMMANDS:
            self.add("boundary", "\\" + name, start, end)
        elif name in ("frac", "dfrac", "tfrac", "cfrac"):
            self.add("command", "frac", start, end)
        elif name in FUNCTIONS or name in ("sqrt", "pi"):
            self.add("command", name, start, end)
        elif name in ("mu", "Omega"):
            self.add("name", {"mu": "μ", "Omega": "Ω"}[name], start, end)
        elif name in ("lbrace", "lbrack", "rbrace", "rbrack"):
            self.add("open" if name[0] == "l" else "close", {"e": "{", "k": "["}[name[-1]], start, end)
        elif name == "tag":
            self.add("boundary", "\\tag", start, end)
        else:
            self.add("name", "\\" + name, start, end)
        return end
