"""Rows as the bytes of a file, a piece at a time: nothing holds more than one piece."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from annotation.cells import harmless
from annotation.exports.columns import Column, Kind

Row = tuple[Any, ...]
PIECE = 64 * 1024
GROUP_ROWS = 5_000
GROUP_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True)
class Format:
    """A format of files: how rows become bytes."""

    name: str
    suffix: str
    content_type: str
    stream: Callable[[Iterable[Row], Sequence[Column]], Iterator[bytes]]


def instant(value: datetime) -> str:
    """Return a time as text: UTC, with all its microseconds."""
    return value.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def csv_stream(rows: Iterable[Row], columns: Sequence[Column]) -> Iterator[bytes]:
    """Yield a CSV file (RFC 4180, UTF-8, with a head); null is an empty cell."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\r\n", quoting=csv.QUOTE_MINIMAL)
    writer.writerow([column.name for column in columns])
    cells = [_CELLS[column.kind] for column in columns]
    for row in rows:
        writer.writerow(
            ["" if value is None else cell(value) for cell, value in zip(cells, row, strict=True)]
        )
        if buffer.tell() >= PIECE:
            yield _drained(buffer)
    yield _drained(buffer)


def jsonl_stream(rows: Iterable[Row], columns: Sequence[Column]) -> Iterator[bytes]:
    """Yield JSON Lines: an object with every column on each line."""
    names = [column.name for column in columns]
    times = [number for number, column in enumerate(columns) if column.kind is Kind.INSTANT]
    buffer = io.StringIO(newline="")
    for row in rows:
        values = list(row)
        for number in times:
            if values[number] is not None:
                values[number] = instant(values[number])
        buffer.write(json.dumps(dict(zip(names, values, strict=True)), ensure_ascii=False, allow_nan=False))
        buffer.write("\n")
        if buffer.tell() >= PIECE:
            yield _drained(buffer)
    yield _drained(buffer)


def parquet_stream(rows: Iterable[Row], columns: Sequence[Column]) -> Iterator[bytes]:
    """Yield a Parquet file, written by row groups of a bounded size."""
    import pyarrow as pa  # heavy, and of use to this one format only
    import pyarrow.parquet as pq

    types = {
        Kind.TEXT: pa.string(),
        Kind.WHOLE: pa.int64(),
        Kind.TRUTH: pa.bool_(),
        Kind.INSTANT: pa.timestamp("us", tz="UTC"),
    }
    schema = pa.schema([(column.name, types[column.kind]) for column in columns])
    sink = _Sink()
    with pq.ParquetWriter(pa.PythonFile(sink, mode="w"), schema, compression="zstd") as writer:
        for group in _groups(rows):
            arrays = [
                pa.array(values, type=field.type)
                for values, field in zip(zip(*group, strict=True), schema, strict=True)
            ]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            yield sink.drained()
    yield sink.drained()


FORMATS = {
    "csv": Format("csv", ".csv", "text/csv; charset=utf-8", csv_stream),
    "jsonl": Format("jsonl", ".jsonl", "application/x-ndjson; charset=utf-8", jsonl_stream),
    "parquet": Format("parquet", ".parquet", "application/vnd.apache.parquet", parquet_stream),
}

_CELLS: dict[Kind, Callable[[Any], str]] = {
    Kind.TEXT: harmless,
    Kind.WHOLE: str,
    Kind.TRUTH: lambda value: "true" if value else "false",
    Kind.INSTANT: instant,
}


def _drained(buffer: io.StringIO) -> bytes:
    piece = buffer.getvalue().encode()
    buffer.seek(0)
    buffer.truncate()
    return piece


def _groups(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Yield the rows in groups bounded in number and in the size of their texts."""
    group: list[Row] = []
    size = 0
    for row in rows:
        group.append(row)
        size += sum(len(value) for value in row if isinstance(value, str))
        if len(group) >= GROUP_ROWS or size >= GROUP_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


class _Sink:
    """A file that only grows, from which what was written is taken away piece by piece."""

    closed = False

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._written = 0

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self._pieces.append(piece)
        self._written += len(piece)
        return len(piece)

    def tell(self) -> int:
        return self._written

    def flush(self) -> None:
        """What is written is taken by `drained`."""

    def close(self) -> None:
        """There is nothing to close."""

    def drained(self) -> bytes:
        """Return what was written since the last call."""
        piece, self._pieces = b"".join(self._pieces), []
        return piece
