"""Cells and tables: what is shown, and where a number leads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

MINUS = "−"


@dataclass(frozen=True)
class Cell:
    """A cell: the words shown, the interval beside them if any, and why a number is missing.

    `link` asks for the traces behind the number, as a query of the page that lists them.
    """

    text: str
    interval: str = ""
    reason: str = ""
    number: bool = True
    link: str = ""

    def __str__(self) -> str:
        return f"{self.text} {self.interval}" if self.interval else self.text


Words = tuple[Cell, ...]


def say(form: str, *numbers: Cell) -> Words:
    """Return words with numbers in the places of `{}`."""
    texts = form.split("{}")
    pairs = zip(texts, (*numbers, Cell("")), strict=True)
    return tuple(part for text, number in pairs for part in (words(text), number) if part.text)


def listed(items: Iterable[Words], between: str = ", ") -> Words:
    """Join words as a list."""
    out: Words = ()
    for item in items:
        out += (words(between), *item) if out else item
    return out


def plain(said: Words) -> str:
    """Return words without their links."""
    return "".join(map(str, said))


@dataclass(frozen=True)
class Table:
    """A table with its title, the words under it, and rows of cells; the last `totals` rows are sums.

    `section` is the part of the report that it belongs to; a `folded` table opens on demand.
    """

    section: str
    key: str
    title: str
    note: Words
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    totals: int = 0
    folded: bool = False

    @property
    def heads(self) -> list[tuple[str, bool]]:
        """Each column's title with whether it holds numbers."""
        return [(title, self.rows[0][place].number) for place, title in enumerate(self.columns)]

    @property
    def body(self) -> list[tuple[bool, tuple[Cell, ...]]]:
        """Each row with whether it is a total."""
        first_total = len(self.rows) - self.totals
        return [(number >= first_total, row) for number, row in enumerate(self.rows)]


def words(text: str, link: str = "") -> Cell:
    """Return a cell of words."""
    return Cell(text, number=False, link=link)


def count(value: int, link: str = "") -> Cell:
    """Return a cell of a count."""
    return Cell(str(value), link=link)


def counted(number: int, noun: str, link: str) -> Cell:
    """Return a count with what is counted."""
    return Cell(f"{number} {noun}" if number == 1 else f"{number} {noun}s", link=link)


def share(record: dict[str, Any], name: str) -> str:
    """Return a share as a percentage in brackets; nothing where it is undefined."""
    return "" if record.get(name) is None else f"({100 * record[name]:.1f}%)"


def figure(
    record: dict[str, Any],
    name: str,
    *,
    ci: str = "",
    digits: int = 3,
    signed: bool = False,
    bare: bool = False,
    link: str = "",
) -> Cell:
    """Return `name` of a record, rounded for show, with its interval; a dash where it is undefined.

    `bare` leaves the interval to the JSON and CSV: a table with too many of them is not read.
    """
    value = record.get(name)
    if value is None:
        return Cell("–", reason=record.get(f"{name}_reason", "not computed"))
    sign = "+" if signed else ""
    bounds = None if bare else record.get(ci or f"{name}_ci")
    shown = f"[{bounds[0]:{sign}.{digits}f}, {bounds[1]:{sign}.{digits}f}]" if bounds else ""
    text = f"{value:{sign}.{digits}f}".replace("-", MINUS)
    return Cell(text, shown.replace("-", MINUS), link=link)


def told(cell: Cell) -> Cell:
    """Return a number to stand in a sentence: where it is undefined the reason is said."""
    return words(f"undefined ({cell.reason})") if cell.reason else cell


def as_text(table: Table) -> str:
    """Lay a table out for a terminal."""
    cells = [list(table.columns), *([str(cell) for cell in row] for row in table.rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(table.columns))]
    left = [not number for _, number in table.heads]

    def line(row: Sequence[str]) -> str:
        padded = [
            text.ljust(width) if is_left else text.rjust(width)
            for text, width, is_left in zip(row, widths, left, strict=True)
        ]
        return "  ".join(padded).rstrip()

    ruled = ["-" * width for width in widths]
    return "\n".join([table.title, line(cells[0]), line(ruled), *(line(row) for row in cells[1:])])
