"""Finds the formulas of a text before Markdown sees it, so that Markdown touches nothing inside them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

ENVIRONMENTS = (
    "align", "alignat", "aligned", "alignedat", "array", "bmatrix", "Bmatrix", "cases", "dcases",
    "displaymath", "eqnarray", "equation", "flalign", "gather", "gathered", "math", "matrix", "multline",
    "pmatrix", "smallmatrix", "split", "vmatrix", "Vmatrix",
)  # fmt: skip
BOXED_REACH = 2000

_ENVIRONMENT = re.compile(r"\\(begin|end)\{((?:" + "|".join(ENVIRONMENTS) + r")\*?)\}")
_TOKEN = re.compile(
    r"\\\(|\\\[|\\begin\{|\\boxed\s*\{|\\.|\$\$?|`+|^ {0,3}(?:```+|~~~+)", re.DOTALL | re.MULTILINE
)
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_TEX_SIGN = re.compile(r"[\\^_=]")
_TICKS = re.compile(r"`+")


@dataclass(frozen=True)
class Formula:
    """A formula: `tex` without its delimiters, `source` as it stands in the text."""

    tex: str
    source: str
    display: bool


def split(text: str) -> Iterator[str | Formula]:
    """Yield the text's pieces in order: plain strings and formulas. Joined sources give the text again.

    Delimiters: $ $$ \\( \\) \\[ \\], bare mathematical environments, bare \\boxed{...}. For single dollars
    pandoc's rules hold, so that "$5 and $6" stays prose: no space inside next to a dollar (unless the content
    looks like TeX and has a space at both ends), no digit after the closing one, no blank line between. What
    has no end is left as it is. Code spans and fenced blocks are passed over. Linear in the text.
    """
    scanner = _Scanner(text)
    done = 0
    position = 0
    while match := _TOKEN.search(text, position):
        found = scanner.at(match)
        if isinstance(found, int):
            position = found
            continue
        end, tex, display = found
        if match.start() > done:
            yield text[done : match.start()]
        yield Formula(tex, text[match.start() : end], display)
        done = position = end
    if done < len(text):
        yield text[done:]


class _Scanner:
    """Looks at one delimiter at a time; remembers which ends are missing, so that no search repeats."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.missing: set[str] = set()
        self.environments: dict[int, int] | None = None
        self.ticks: dict[int, list[int]] | None = None

    def at(self, match: re.Match[str]) -> int | tuple[int, str, bool]:
        """Return (end, tex, display) of the formula that begins here, or where to go on."""
        mark, start = match.group(), match.start()
        if mark[0] == "$":
            return self._dollars(start, mark)
        if mark == "\\(":
            return self._bracket(start, "\\)", display=False)
        if mark == "\\[":
            return self._bracket(start, "\\]", display=True)
        if mark == "\\begin{":
            end = self._environment_ends().get(start)
            return (end, self.text[start:end], True) if end else match.end()
        if mark.startswith("\\boxed"):
            end = self._closing_brace(match.end())
            return (end, self.text[start:end], False) if end else match.end()
        if mark[0] == "\\":
            return match.end()
        return self._code(match)

    def _find(self, mark: str, position: int) -> int:
        """Return where an unescaped `mark` stands at or after `position`, -1 if nowhere."""
        if mark in self.missing:
            return -1
        begin = position
        while (found := self.text.find(mark, position)) >= 0:
            before = found
            while before > begin and self.text[before - 1] == "\\":
                before -= 1
            if (found - before) % 2 == 0:
                return found
            position = found + 1
        self.missing.add(mark)
        return -1

    def _dollars(self, start: int, mark: str) -> int | tuple[int, str, bool]:
        text, begin = self.text, start + len(mark)
        end = self._find(mark, begin)
        if mark == "$$":
            if end < 0:
                return begin
            tex = text[begin:end]
            if not tex.strip() or _BLANK_LINE.search(tex.strip()):
                return begin
            return end + 2, tex, True
        if end <= begin:
            return begin
        tex = text[begin:end]
        spaced = tex[0].isspace(), tex[-1].isspace()
        if any(spaced) and not (all(spaced) and _TEX_SIGN.search(tex) and "\n" not in tex.strip(" ")):
            return begin
        if text[end + 1 : end + 2].isdigit() or _BLANK_LINE.search(tex):
            return begin
        return end + 1, tex, False

    def _bracket(self, start: int, closing: str, *, display: bool) -> int | tuple[int, str, bool]:
        begin = start + 2
        end = self._find(closing, begin)
        if end < 0:
            return begin
        tex = self.text[begin:end]
        if not tex.strip() or (not display and _BLANK_LINE.search(tex)):
            return begin
        return end + 2, tex, display

    def _environment_ends(self) -> dict[int, int]:
        """Return where each outermost environment begins and ends; one pass over the text."""
        if self.environments is None:
            self.environments = {}
            open_: list[tuple[str, int]] = []
            for match in _ENVIRONMENT.finditer(self.text):
                kind, name = match.groups()
                if kind == "begin":
                    open_.append((name, match.start()))
                elif open_ and open_[-1][0] == name:
                    self.environments[open_.pop()[1]] = match.end()
                else:
                    open_.clear()
        return self.environments

    def _closing_brace(self, position: int) -> int | None:
        depth = 1
        stop = min(len(self.text), position + BOXED_REACH)
        while position < stop:
            character = self.text[position]
            if character == "\\":
                position += 1
            elif character in "{}":
                depth += 1 if character == "{" else -1
                if depth == 0:
                    return position + 1
            position += 1
        return None

    def _code(self, match: re.Match[str]) -> int:
        """Return the end of the code span or fenced block that begins here."""
        mark = match.group().lstrip(" ")
        if len(mark) >= 3 and self._at_line_start(match.start()):
            fence = re.compile(r"^ {0,3}" + re.escape(mark) + r"+[ \t]*$", re.MULTILINE)
            closing = fence.search(self.text, match.end())
            return closing.end() if closing else len(self.text)
        if self.ticks is None:
            self.ticks = {}
            for run in _TICKS.finditer(self.text):
                self.ticks.setdefault(len(run.group()), []).append(run.start())
        places = self.ticks.get(len(mark), [])
        index = bisect_right(places, match.start())
        return places[index] + len(mark) if index < len(places) else match.end()

    def _at_line_start(self, position: int) -> bool:
        return self.text[self.text.rfind("\n", 0, position) + 1 : position].strip(" ") == ""
