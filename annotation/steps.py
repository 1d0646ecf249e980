"""Cutting a trace into steps: the rule by which every step number of a study is counted."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from typing import NamedTuple

# Values of Trace.Cut; written out so that this module needs no Django.
NUMBERED, LISTED, UNSEGMENTED = "numbered", "listed", "unsegmented"

MARKER = re.compile(r"\(([0-9]+)\)")


class Cut(NamedTuple):
    """A text in steps: `preamble + "".join(steps)` is the text, to the character."""

    preamble: str
    steps: tuple[str, ...]
    kind: str

    @property
    def n_steps(self) -> int:
        """The number of steps, at least 1."""
        return len(self.steps)


def cut(text: str) -> Cut:
    """Cut a text at its markers (1), (2), (3) ...

    Markers are read from left to right, wherever they stand, and one is kept only if its number is the next
    expected: so a reference to an equation is taken for a marker exactly when its number happens to be due.
    With fewer than two markers the whole text is one step and `kind` is `unsegmented`; otherwise what stands
    before (1) is the preamble, which belongs to no step.
    """
    starts = _padded_starts(text) if "(0" in text else _starts(text)
    if len(starts) < 2:
        return Cut("", (text,), UNSEGMENTED)
    ends = [*starts[1:], len(text)]
    steps = tuple(text[start:end] for start, end in zip(starts, ends, strict=True))
    return Cut(text[: starts[0]], steps, NUMBERED)


def _starts(text: str) -> list[int]:
    starts: list[int] = []
    position = text.find("(1)")
    while position >= 0:
        starts.append(position)
        position = text.find(f"({len(starts) + 1})", position + 1)
    return starts


def _padded_starts(text: str) -> list[int]:
    """Return the same where numbers may have zeros before them."""
    starts: list[int] = []
    for marker in MARKER.finditer(text):
        # Compared as text: int() refuses numbers of thousands of digits.
        if marker.group(1).lstrip("0") == str(len(starts) + 1):
            starts.append(marker.start())
    return starts


def listed(steps: Sequence[str]) -> Cut:
    """Take steps that came ready cut as they are."""
    return Cut("", tuple(steps), LISTED)


def fingerprint(cut: Cut) -> str:
    """Return the sha256 (hex) of a trace: of its text, or of the list where the steps came ready cut."""
    if cut.kind == LISTED:
        content = json.dumps(cut.steps, ensure_ascii=False, separators=(",", ":"))
    else:
        content = cut.preamble + "".join(cut.steps)
    return hashlib.sha256(content.encode()).hexdigest()
