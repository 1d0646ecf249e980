"""Finding the final answer in a trace: the last boxed formula, else a line that says "final answer"."""

from __future__ import annotations

import re
from dataclasses import dataclass

BOX = re.compile(r"\\(?:boxed|fbox)\s*\{")
BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
LINE = re.compile(
    r"^[\s>#*_\-]*(?:the\s+)?final\s+answer\s*(?:[:=]|is\b:?)(.*)$", re.IGNORECASE | re.MULTILINE
)
DECORATION = " \t\r*_:"


@dataclass(frozen=True)
class FinalAnswer:
    """What a trace gives as its answer, and how it was found.

    `path` is `boxed`, `final_answer_line`, `unclosed_box` (the last box never ends: the text was cut off, and
    an earlier box may be an intermediate result) or `none`; `text` is None under the last two.
    """

    text: str | None
    path: str


def final_answer(text: str) -> FinalAnswer:
    """Return the final answer of a trace as written in it; never raises, never guesses."""
    boxes = list(BOX.finditer(text))
    if boxes:
        inside = _balanced(text, boxes[-1].end())
        if inside is None:
            return FinalAnswer(None, "unclosed_box")
        if inside.strip():
            return FinalAnswer(inside.strip(), "boxed")
    lines = [match.group(1).strip(DECORATION) for match in LINE.finditer(text)]
    if lines and lines[-1]:
        return FinalAnswer(lines[-1], "final_answer_line")
    return FinalAnswer(None, "none")


def _balanced(text: str, start: int) -> str | None:
    """Return what lies between `start` and the brace that closes there; None if none does."""
    depth = 1
    for match in BRACE.finditer(text, start):
        if match.group() == "{":
            depth += 1
        elif match.group() == "}":
            depth -= 1
            if depth == 0:
                return text[start : match.start()]
    return None
