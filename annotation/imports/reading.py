"""Reading files that people hand in: JSON Lines or one JSON array, with the line in every complaint."""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

from annotation.imports.fields import ConflictingRow, RefusedRow
from core.errors import BadRow, ImportRefused, UserError

T = TypeVar("T")

MAX_LINE = 64 * 1024 * 1024
MAX_BAD_ROWS = 1000

SPACE = re.compile(r"[ \t\r\n]*")
UTF8_MARK = b"\xef\xbb\xbf"
# Longest first: the mark of UTF-32 begins with that of UTF-16.
FOREIGN = {
    b"\xff\xfe\x00\x00": "is UTF-32; save it as UTF-8",
    b"\x00\x00\xfe\xff": "is UTF-32; save it as UTF-8",
    b"\xff\xfe": "is UTF-16; save it as UTF-8",
    b"\xfe\xff": "is UTF-16; save it as UTF-8",
    b"\x1f\x8b": "is compressed (gzip); unpack it first",
    b"PK\x03\x04": "is a zip archive; unpack it first",
}
PARQUET = b"PAR1"


@dataclass(frozen=True)
class Row:
    """One object of a file and the line on which it begins, counted from 1."""

    line: int
    fields: dict[str, Any]


class Source:
    """A file to be imported, opened once and read from front to end.

    `bad` gathers what is wrong with it; a file with bad rows is never imported in part. After `rows` has been
    read to the end, `sha256` is that of the bytes.
    """

    def __init__(self, path: str | Path) -> None:
        self.name = str(path)
        self.bad: list[BadRow] = []
        self._hash = hashlib.sha256()
        self._file: IO[bytes] = _opened(Path(path))

    @classmethod
    def of_bytes(cls, name: str, content: bytes) -> Source:
        """Make a source of a file that is in memory already."""
        source = cls.__new__(cls)
        source.name, source.bad, source._hash = name, [], hashlib.sha256()
        source._file = io.BufferedReader(io.BytesIO(content))
        return source

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()

    @property
    def sha256(self) -> str:
        """The sha256 (hex) of what has been read."""
        return self._hash.hexdigest()

    def refuse(self, line: int, reason: str | RefusedRow) -> None:
        """Note a bad row; a file with very many is given up at once."""
        self.bad.append(BadRow(line, str(reason), isinstance(reason, ConflictingRow)))
        if len(self.bad) >= MAX_BAD_ROWS:
            raise ImportRefused(self.name, self.bad)

    def raise_if_bad(self) -> None:
        """Raise ImportRefused, with every bad row in it, if there is one."""
        if self.bad:
            raise ImportRefused(self.name, sorted(self.bad, key=lambda row: row.line))

    def raise_if_empty(self, rows: int) -> None:
        """Raise UserError for a file that had lines, all of them blank."""
        if rows == 0:
            raise UserError(f"{self.name} holds no rows")

    def is_parquet(self) -> bool:
        """Whether the file begins as Parquet files do."""
        return self._peek().startswith(PARQUET)

    def head_line(self) -> str:
        """Return the beginning of the file's first line, without moving on."""
        return self._peek().removeprefix(UTF8_MARK).split(b"\n", 1)[0].decode(errors="replace").strip()

    def first(self, rows: Callable[[Source], Iterator[Row]] | None = None) -> dict[str, Any]:
        """Return the fields of the first row, without moving on; UserError if there is none or it is bad."""
        with Source(self.name) as ahead:
            for row in rows(ahead) if rows else ahead.rows():
                return row.fields
            ahead.raise_if_bad()
        raise UserError(f"{self.name} holds no rows")

    def whole_file(self) -> IO[bytes]:
        """Return the file at its beginning for a reader that goes to and fro; its sha256 is taken first."""
        while piece := self._file.read(1024 * 1024):
            self._hash.update(piece)
        self._file.seek(0)
        return self._file

    def text_lines(self) -> Iterator[str]:
        """Yield the lines of a UTF-8 text with their ends; what is not UTF-8 is a UserError with its line."""
        self._check_head(self._peek())
        number = 0
        while raw := self._file.readline(MAX_LINE + 1):
            number += 1
            self._hash.update(raw)
            if len(raw) > MAX_LINE:
                raise UserError(f"{self.name}:{number}: the line is longer than {MAX_LINE // 2**20} MB")
            try:
                yield (raw.removeprefix(UTF8_MARK) if number == 1 else raw).decode()
            except UnicodeDecodeError as error:
                raise UserError(f"{self.name}:{number}: not UTF-8") from error

    def rows(self) -> Iterator[Row]:
        """Yield the rows; what is no JSON object goes to `bad` with its line.

        Raises UserError for a file that is empty or no UTF-8 text by its first bytes.
        """
        head = self._peek()
        self._check_head(head)
        body = head.removeprefix(UTF8_MARK).lstrip()
        if body.startswith(b"["):
            yield from self._array()
        else:
            yield from self._lines()

    def _peek(self) -> bytes:
        return self._file.peek(512)[:512]  # type: ignore[attr-defined,no-any-return]

    def _check_head(self, head: bytes) -> None:
        if not head:
            raise UserError(f"{self.name} is empty")
        for mark, what in FOREIGN.items():
            if head.startswith(mark):
                raise UserError(f"{self.name} {what}")
        if head.startswith(PARQUET):
            raise UserError(f"{self.name} is a Parquet file, not JSON Lines")
        if b"\0" in head:
            raise UserError(
                f"{self.name} holds NUL bytes: it is UTF-16 without a byte order mark, or no text; "
                "save it as UTF-8"
            )

    def _lines(self) -> Iterator[Row]:
        number = 0
        while raw := self._file.readline(MAX_LINE + 1):
            number += 1
            self._hash.update(raw)
            if len(raw) > MAX_LINE:
                raise UserError(f"{self.name}:{number}: the line is longer than {MAX_LINE // 2**20} MB")
            if number == 1:
                raw = raw.removeprefix(UTF8_MARK)
            raw = raw.strip(b" \t\r\n")
            if not raw:
                continue
            try:
                yield Row(number, _object(raw))
            except RefusedRow as refusal:
                self.refuse(number, refusal)

    def _array(self) -> Iterator[Row]:
        content = self._file.read()
        self._hash.update(content)
        try:
            text = content.removeprefix(UTF8_MARK).decode()
        except UnicodeDecodeError as error:
            self.refuse(content.count(b"\n", 0, error.start) + 1, "not UTF-8")
            return
        place, line, counted, first = _skip(text, text.index("[") + 1), 1, 0, True
        while not text.startswith("]", place):
            if not first:
                if not text.startswith(",", place):
                    self.refuse(line + text.count("\n", counted, place), "not JSON: the array is broken here")
                    return
                place = _skip(text, place + 1)
            first = False
            line, counted = line + text.count("\n", counted, place), place
            try:
                value, place = DECODER.raw_decode(text, place)
            except (ValueError, RecursionError) as error:
                self.refuse(getattr(error, "lineno", line), _why(error))
                return
            try:
                yield Row(line, _checked(value, text[counted:place]))
            except RefusedRow as refusal:
                self.refuse(line, refusal)
            place = _skip(text, place)
        if text[place + 1 :].strip():
            self.refuse(line + text.count("\n", counted, place), "not JSON: something follows the array")


def _opened(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except FileNotFoundError as error:
        raise UserError(f"{path}: there is no such file") from error
    except IsADirectoryError as error:
        raise UserError(f"{path} is a directory; name a file in it") from error
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from error


def read_bytes(path: Path) -> bytes:
    """Return a whole file; UserError names it if it is missing, a directory or unreadable."""
    with _opened(path) as file:
        return file.read()


def load_object(name: str, content: bytes) -> dict[str, Any]:
    """Return the one JSON object that a small file holds, under the same rules as rows."""
    try:
        return _object(content.removeprefix(UTF8_MARK))
    except RefusedRow as refusal:
        raise UserError(f"{name}: {refusal}") from refusal


def _skip(text: str, place: int) -> int:
    match = SPACE.match(text, place)
    assert match is not None
    return match.end()


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is no number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large for a number")
    return number


def _whole(text: str) -> int:
    if len(text) > 18:
        raise ValueError(f"{text[:18]}... is too large for a number")
    return int(text)


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f'the field "{repeated}" stands twice')
    return fields


DECODER = json.JSONDecoder(
    object_pairs_hook=_unrepeated, parse_constant=_no_constant, parse_float=_finite, parse_int=_whole
)


def _object(raw: bytes) -> dict[str, Any]:
    if b"\0" in raw:
        raise RefusedRow("holds a NUL byte")
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise RefusedRow(f"not UTF-8 (byte {error.start + 1} of the line)") from error
    try:
        value = DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        raise RefusedRow(_why(error)) from error
    return _checked(value, text)


def _why(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error.msg[0].lower()}{error.msg[1:]} (column {error.colno})"
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return str(error)


def _checked(value: Any, text: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise RefusedRow("not a JSON object")
    # Escapes can hide what no database stores as text; looked for only where an escape is.
    if "\\u0000" in text or "\\ud" in text or "\\uD" in text:
        try:
            held = json.dumps(value, ensure_ascii=False)
            held.encode()
        except UnicodeEncodeError as error:
            raise RefusedRow("half of a surrogate pair stands alone in a text") from error
        if _holds_nul(value):
            raise RefusedRow("a text holds a NUL character (\\u0000)")
    return value


def _holds_nul(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, dict):
        return any(_holds_nul(part) for pair in value.items() for part in pair)
    return isinstance(value, list) and any(_holds_nul(part) for part in value)


def read_each(source: Source, read: Callable[[Row], T], *, rows: Iterator[Row] | None = None) -> Iterator[T]:
    """Yield what `read` makes of each row; refused rows go to the source's bad ones."""
    for row in source.rows() if rows is None else rows:
        try:
            value = read(row)
        except RefusedRow as refusal:
            source.refuse(row.line, refusal)
        else:
            yield value
