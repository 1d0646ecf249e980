"""Errors that a person can act on; their text says what happened, what is safe and what to do."""

from __future__ import annotations

from dataclasses import dataclass


class UserError(Exception):
    """Base of domain errors: shown as its text, never as a traceback."""


class Conflict(UserError):
    """Somebody else, or an earlier click, got there first (HTTP 409)."""


@dataclass(frozen=True)
class BadRow:
    """A row that an import refuses; `conflict`: it is well made and contradicts what is here."""

    line: int
    reason: str
    conflict: bool = False


class ImportRefused(UserError):
    """A file is not imported at all, because of its rows or as a whole."""

    def __init__(self, file: str, rows: list[BadRow], *, shown: int = 50) -> None:
        self.file = file
        self.rows = rows
        lines = [f"{file}:{row.line}: {row.reason}" for row in rows[:shown]]
        if len(rows) > shown:
            lines.append(f"... and {len(rows) - shown} more")
        super().__init__("\n".join(lines))
