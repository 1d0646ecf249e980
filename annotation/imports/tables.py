"""Reading tables that people hand in: CSV and Parquet, as rows of typed fields like those of JSON Lines."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from annotation.cells import as_written
from annotation.exports.columns import Kind
from annotation.imports.reading import MAX_LINE, Row, Source
from core.errors import UserError

DELIMITERS = (",", ";", "\t")
BATCH = 500
MAX_UNPACKED = 1 << 30  # bytes of one row group of Parquet, which is unpacked as a whole
WHOLE = re.compile(r"[0-9]{1,18}\Z")
TRUTHS = {"true": True, "false": False, "1": True, "0": False}


def rows_of(source: Source, kinds: Mapping[str, Kind]) -> Iterator[Row]:
    """Yield the rows of a file of any shape: Parquet, CSV with a column that we know, else JSON.

    `kinds` says what the cells of CSV columns hold; other columns are texts. A row's line is that of the file,
    in Parquet its number from 1.
    """
    if source.is_parquet():
        return parquet_rows(source)
    names = re.split(r"[,;\t]", source.head_line())
    if len(names) > 1 and any(name.strip(' "') in kinds for name in names):
        return csv_rows(source, kinds)
    return source.rows()


def csv_rows(source: Source, kinds: Mapping[str, Kind]) -> Iterator[Row]:
    """Yield the rows of a CSV file with a head; an empty cell is null.

    Commas, semicolons and tabs separate; the head tells which. Cells that an export made harmless are read
    as they were. Raises UserError for a file without a head that names columns.
    """
    csv.field_size_limit(MAX_LINE)  # the module's own limit of 128 kB is less than a long solution
    lines = source.text_lines()
    head = next(lines, "")
    delimiter = max(DELIMITERS, key=head.count)
    try:
        names = [name.strip() for name in next(csv.reader([head], delimiter=delimiter), [])]
    except csv.Error as error:
        raise UserError(f"{source.name}: the head is not CSV: {error}") from error
    if not all(names):
        raise UserError(f"{source.name} has a head with a column that has no name")
    for name in names:
        if names.count(name) > 1:
            raise UserError(f'{source.name}: two columns are called "{name}"')
    reads = [_CELLS[kinds.get(name, Kind.TEXT)] for name in names]
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        line = (
            reader.line_num + 2
        )  # the head is line 1, and the row begins on the line after the last one read
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            source.refuse(line, f"not CSV: {error}")
            return
        if not any(cells):
            continue
        if len(cells) != len(names):
            source.refuse(line, f"has {len(cells)} cells; the head names {len(names)} columns")
            continue
        if any("\0" in cell for cell in cells):
            source.refuse(line, "holds a NUL character")
            continue
        yield Row(line, {name: read(cell) for name, read, cell in zip(names, reads, cells, strict=True)})


def parquet_rows(
    source: Source, *, columns: Callable[[list[str]], list[str]] | None = None, batch: int = BATCH
) -> Iterator[Row]:
    """Yield the rows of a Parquet file, a few at a time; `columns` chooses among their names."""
    import pyarrow as pa  # heavy, and of use to this one format only
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(source.whole_file())
        _refuse_bombs(source, file.metadata)
        names = file.schema_arrow.names
        number = 0
        for group in file.iter_batches(batch_size=batch, columns=columns(names) if columns else None):
            for fields in group.to_pylist():
                number += 1
                if any(isinstance(value, str) and "\0" in value for value in fields.values()):
                    source.refuse(number, "a text holds a NUL character")
                else:
                    yield Row(number, fields)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        raise UserError(f"{source.name} is no Parquet file that can be read: {error}") from error


def _refuse_bombs(source: Source, metadata: Any) -> None:
    """Raise UserError for a file whose parts unpack to more than a machine should be asked to hold."""
    for number in range(metadata.num_row_groups):
        size = metadata.row_group(number).total_byte_size
        if size > MAX_UNPACKED:
            raise UserError(
                f"{source.name}: row group {number + 1} unpacks to {size >> 20} MB, more than "
                f"{MAX_UNPACKED >> 20} MB; write the file in smaller row groups"
            )


def _text(cell: str) -> str | None:
    return as_written(cell) if cell else None


def _whole(cell: str) -> Any:
    if not cell:
        return None
    return int(cell) if WHOLE.match(cell) else cell


def _truth(cell: str) -> Any:
    return TRUTHS.get(cell.lower(), cell) if cell else None


_CELLS: dict[Kind, Callable[[str], Any]] = {
    Kind.TEXT: _text,
    Kind.WHOLE: _whole,
    Kind.TRUTH: _truth,
    Kind.INSTANT: lambda cell: cell or None,
}
