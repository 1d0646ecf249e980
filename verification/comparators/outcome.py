"""What every comparator returns: a verdict with its reason."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from core.errors import UserError

MAX_CHARACTERS = 4_000
"""An answer longer than this is not compared; a person must look."""


class BadComparator(UserError):
    """A comparator described wrongly; the text says what and where."""


class Verdict(StrEnum):
    """The three things a comparator may say; `undecided` sends the trace to a person."""

    EQUAL = "equal"
    DIFFERENT = "different"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Comparison:
    """A verdict, and in a sentence why."""

    verdict: Verdict
    reason: str


class Comparator(Protocol):
    """Compares an answer with a key. Never raises on any text."""

    def compare(self, key: str, answer: str) -> Comparison:
        """Say whether the answer says what the key says."""
        ...


def equal(reason: str) -> Comparison:
    """Return "equal" with its reason."""
    return Comparison(Verdict.EQUAL, reason)


def different(reason: str) -> Comparison:
    """Return "different" with its reason."""
    return Comparison(Verdict.DIFFERENT, reason)


def undecided(reason: str) -> Comparison:
    """Return "undecided" with its reason."""
    return Comparison(Verdict.UNDECIDED, reason)


def unreadable(key: str, answer: str) -> Comparison | None:
    """Return a comparison for what no comparator need look at: nothing there, or far too much."""
    if not key.strip():
        return undecided("the key is empty")
    if not answer.strip():
        return different("there is no answer")
    if max(len(key), len(answer)) > MAX_CHARACTERS:
        return undecided(f"longer than {MAX_CHARACTERS} characters")
    return None
