"""Patterns of claims: a small language over the words of a response, compiled to regular expressions.

A pattern is a line of elements: `word`, `<class>` (any phrase of a named class), `[...]` (may be missing),
`~` (up to eight other words; never a named thing, a negation or the end of a clause), `{SLOT}`. Patterns hold
no regular expressions, so that a rule is data that cannot run away.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from verification.comparators.outcome import BadComparator

GAP_WORDS = 8
# so that no pattern can take long on any text
MAX_PATTERN, MAX_GAPS, MAX_OPTIONAL = 300, 4, 12
ELEMENT = re.compile(r"\[|\]|~|<([a-z_]+)>|\{([A-Z][A-Z0-9_]*)\}|([^\s\[\]~<>{}]+)")
WORD = re.compile(
    r"[^\W\d_]+n't\b|'[sS]\b|(?<![\w.])\d+(?:\.\d+)?|[^\W\d_]+(?:-[^\W\d_]+)*|°|%|[^\w\s]", re.UNICODE
)
EMPHASIS = re.compile(r"[*_`$]+|\\(?:text|mathrm|mathbf)\b|[{}]|\\,")
DASHES = {
    "–": "-",
    "−": "-",
    "‐": "-",
    "‑": "-",
    "—": " ; ",
    "―": " ; ",
    "’": "'",
    "‘": "'",
    "“": '"',
    "”": '"',
}
BREAKS = (";", ".", ":", "!", "?")
NEGATIONS = (
    "not", "n't", "no", "never", "isn't", "doesn't", "don't", "aren't", "cannot", "can't", "won't", "wouldn't",
    "fails", "fail", "without", "no longer", "neither", "nor", "didn't", "wasn't",
)  # fmt: skip


def plain(text: str) -> str:
    """Return a response as words between single blanks: emphasis gone, dashes and quotes made uniform."""
    text = unicodedata.normalize("NFKC", text)
    for old, new in DASHES.items():
        text = text.replace(old, new)
    text = re.sub(r"(?<=[^\W_])_(?=[^\W_])", " ", text)
    text = re.sub(r"\s--+\s", " ; ", EMPHASIS.sub("", text))
    words: list[str] = []
    for word in WORD.findall(text):
        # "center-of-mass" is three words, "D-C" a pair of names
        if "-" in word and len(word) > 1:
            words += _hyphens(word.split("-"))
        else:
            words.append("'s" if word == "'S" else word)
    return " ".join(words)


def _hyphens(parts: Sequence[str]) -> list[str]:
    """Join parts by a hyphen where a single letter stands on a side, by nothing else otherwise."""
    out = [parts[0]]
    for before, part in pairwise(parts):
        if len(before) == 1 or len(part) == 1:
            out.append("-")
        out.append(part)
    return out


@dataclass(frozen=True)
class Things:
    """The things that a response names: single letters or numbers, with the nouns that may stand before."""

    nouns: tuple[str, ...] = ()
    order: str = "alphabetical"

    @property
    def noun(self) -> str:
        """The nouns as an alternative of a regular expression."""
        return _alternatives(self.nouns) if self.nouns else r"(?!)"

    @property
    def one(self) -> str:
        """A named thing, one group-free regular expression over words between blanks."""
        return rf"(?:(?:(?i:the|upper|lower|top|bottom|supporting) )*(?i:{self.noun}) )?[A-Z](?= |$)"

    @property
    def several(self) -> str:
        """One or more named things: B; B + C; B, C and D; B - C - D; B - D; blocks B through D."""
        listed = r"(?: (?:- and -|, and|, &|,|and|&|\+|with|plus|/)(?: (?i:the))?)"
        ranged = r"(?: (?:-|through|thru|to|up to|\. \. \.))"
        inner = rf"{self.one}(?:{listed} {self.one}){{0,8}}"
        chained = rf"{self.one}(?: - {self.one}){{2,8}}"
        return rf"(?:\( )?(?:{chained}|{self.one}{ranged} {self.one}|{inner})(?: \))?"

    def members(self, text: str) -> list[str]:
        """Return the names in a group, a range filled in."""
        names = re.findall(r"(?:^|(?<= ))[A-Z](?= |$)", text)
        ranged = len(names) == 2 and re.search(r" (?:-|through|thru|to|up to|\. \. \.) ", text)
        if ranged and names[0] < names[1]:
            return [chr(code) for code in range(ord(names[0]), ord(names[1]) + 1)]
        return names


NUMBER = r"-?(?: )?\d+(?:\.\d+)?(?= |$)"


@dataclass(frozen=True)
class Vocabulary:
    """Named classes of phrases, and the things that fill slots."""

    classes: Mapping[str, tuple[str, ...]]
    things: Things

    def gap(self) -> str:
        """Up to eight words between two elements of a pattern."""
        stops = "|".join(re.escape(one) for one in BREAKS)
        never = _alternatives((*NEGATIONS, *self.classes.get("break", ())))
        return rf"(?:(?!(?:{stops}) |(?i:{never})(?= |$)|[A-Z](?= |$))\S+ ){{0,{GAP_WORDS}}}?"

    def compile(self, pattern: str, slots: Mapping[str, str]) -> re.Pattern[str]:
        """Compile a pattern; `slots` gives the kind of each: thing, group or number."""
        if len(pattern) > MAX_PATTERN or pattern.count("~") > MAX_GAPS or pattern.count("[") > MAX_OPTIONAL:
            raise BadComparator(
                f'the pattern "{pattern[:60]}" is too long: at most {MAX_PATTERN} characters, {MAX_GAPS} gaps and '
                f"{MAX_OPTIONAL} optional parts"
            )
        out: list[str] = []
        depth = 0
        place = 0
        for match in ELEMENT.finditer(pattern):
            if pattern[place : match.start()].strip():
                raise BadComparator(f'the pattern "{pattern}" cannot be read at "{pattern[place:][:20]}"')
            place = match.end()
            text = match.group()
            if text == "[":
                depth += 1
                out.append("(?:")
            elif text == "]":
                depth -= 1
                out.append(")?")
            elif text == "~":
                out.append(self.gap())
            elif match.group(1):
                out.append(self._class(match.group(1), pattern) + " ")
            elif match.group(2):
                out.append(self._slot(match.group(2), pattern, slots))
            else:
                out.append(rf"(?i:{re.escape(text)}) ")
            if depth < 0:
                raise BadComparator(f'the pattern "{pattern}" closes a bracket that is not open')
        if depth:
            raise BadComparator(f'the pattern "{pattern}" leaves a bracket open')
        return re.compile(r"(?:^|(?<= ))" + "".join(out))

    def _class(self, name: str, pattern: str) -> str:
        if name == "not":
            return rf"(?i:{_alternatives(NEGATIONS)})"
        if name not in self.classes:
            raise BadComparator(f'the pattern "{pattern}" uses the class "{name}", which is not defined')
        return rf"(?i:{_alternatives(self.classes[name])})(?= |$)"

    def _slot(self, name: str, pattern: str, slots: Mapping[str, str]) -> str:
        if name not in slots:
            raise BadComparator(f'the pattern "{pattern}" uses the slot "{name}", which is not defined')
        kinds = {"thing": self.things.one, "group": self.things.several, "number": NUMBER}
        return rf"(?P<{name}>{kinds[slots[name]]}) "


def _alternatives(phrases: Sequence[str]) -> str:
    longest_first = sorted({plain(phrase) for phrase in phrases}, key=len, reverse=True)
    return "(?:" + "|".join(re.escape(phrase) for phrase in longest_first) + ")"
