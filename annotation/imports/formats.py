"""The formats that `import_traces` reads, and which of them a file is in."""

from __future__ import annotations

from typing import Any, Protocol

from annotation.imports import bigbench_mistake, falsestep, prm800k, processbench
from annotation.imports.reading import Row, Source
from annotation.imports.records import QuestionRecord
from core.errors import UserError


class Format(Protocol):
    """What a module of one format offers."""

    def matches(self, fields: dict[str, Any], /) -> bool:
        """Whether a row looks like this format."""

    def read(self, row: Row, /) -> QuestionRecord:
        """Read one row; RefusedRow says what is wrong with it."""


READERS: dict[str, Format] = {
    "falsestep": falsestep,
    "processbench": processbench,
    "prm800k": prm800k,
    "bigbench_mistake": bigbench_mistake,
}
AUTO = "auto"
HLE = "hle"
NAMES = (AUTO, "falsestep", HLE, "processbench", "prm800k", "bigbench_mistake")


def resolve(source: Source, name: str) -> str:
    """Return the format's name, looked up in the file's first row where `name` is `auto`.

    Raises UserError for a file in none of the formats. A Parquet file can only be HLE.
    """
    if source.is_parquet():
        if name not in (AUTO, HLE):
            raise UserError(f"{source.name} is a Parquet file; of our formats only hle is")
        return HLE
    if name == HLE:
        raise UserError(f"{source.name} is no Parquet file; HLE comes as Parquet")
    if name != AUTO:
        return name
    fields = source.first()
    for candidate, module in READERS.items():
        if module.matches(fields):
            return candidate
    if "response_label" in fields and "final_correct" in fields:
        raise UserError(f"{source.name} holds labels; import it with import_labels")
    known = ", ".join(READERS)
    raise UserError(
        f"{source.name} is in none of the formats {known} by the fields of its first row; see docs/formats.md"
    )


def read(name: str, row: Row) -> QuestionRecord:
    """Read one row in the named format; RefusedRow says what is wrong with it."""
    return READERS[name].read(row)
