"""Cells of CSV files that a spreadsheet must not take for a formula, and how they are read back."""

from __future__ import annotations

import re

# What spreadsheets take for the beginning of a formula, or pass over before they look for one.
FORMULA = re.compile(r"'*[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
MARKED = re.compile(r"'+[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")


def harmless(text: str) -> str:
    """Return the text for a CSV cell: an apostrophe goes before what would begin a formula.

    A text that has apostrophes before such a character gets one more, so that `as_written` undoes this for
    every text.
    """
    return f"'{text}" if FORMULA.match(text) else text


def as_written(cell: str) -> str:
    """Return the text of a cell that `harmless` made; other cells are returned as they are."""
    return cell[1:] if MARKED.match(cell) else cell
