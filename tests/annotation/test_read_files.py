"""Reading files for import: encodings, JSON Lines and arrays, and what is refused with its line."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from annotation.imports import reading
from annotation.imports.fields import Fields, RefusedRow
from annotation.imports.reading import Source, load_object
from annotation.imports.tables import csv_rows
from core.errors import ImportRefused, UserError


def read(content: bytes, name: str = "f.jsonl") -> list[tuple[int, dict[str, object]]]:
    source = Source.of_bytes(name, content)
    rows = [(row.line, row.fields) for row in source.rows()]
    source.raise_if_bad()
    return rows


def test_it_reads_lines_and_counts_blank_ones() -> None:
    assert read(b'{"a": 1}\n\n  {"a": 2}\n') == [(1, {"a": 1}), (3, {"a": 2})]


def test_a_byte_order_mark_and_windows_line_ends_are_read() -> None:
    assert read(b'\xef\xbb\xbf{"a": "\xc3\xa9"}\r\n{"a": 2}\r\n') == [(1, {"a": "é"}), (2, {"a": 2})]


def test_a_line_separator_inside_a_text_ends_no_line() -> None:
    assert read('{"a": "x\u2028y\x85z"}\n'.encode()) == [(1, {"a": "x\u2028y\x85z"})]


def test_one_array_is_read_with_the_line_of_each_object() -> None:
    content = b'\xef\xbb\xbf\r\n[{"a": 1},\r\n {"a":\r\n 2}, {"a": 3}\r\n]\r\n'
    assert read(content) == [(2, {"a": 1}), (3, {"a": 2}), (4, {"a": 3})]


def test_an_empty_array_has_no_rows() -> None:
    assert read(b"[ ]") == []


def test_a_field_of_300_kB_is_read() -> None:
    text = "x" * 300_000
    assert read(json.dumps({"a": text}).encode() + b"\n") == [(1, {"a": text})]


def test_the_hash_is_that_of_the_bytes() -> None:
    for content in (b'\xef\xbb\xbf{"a": 1}\r\n\r\n{"a": 2}', b'[{"a": 1}]\n'):
        source = Source.of_bytes("f", content)
        assert len(list(source.rows())) >= 1
        assert source.sha256 == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "f.jsonl is empty"),
        ('{"a": 1}'.encode("utf-16"), "f.jsonl is UTF-16; save it as UTF-8"),
        ('{"a": 1}'.encode("utf-16-be"), "UTF-16 without a byte order mark"),
        ('{"a": 1}'.encode("utf-32"), "f.jsonl is UTF-32"),
        (b"\x1f\x8b\x08\x00", "compressed (gzip)"),
        (b"PK\x03\x04", "zip archive"),
        (b"PAR1....", "Parquet"),
    ],
)
def test_a_file_that_is_no_utf8_text_is_refused_by_name(content: bytes, reason: str) -> None:
    with pytest.raises(UserError, match=reason.replace("(", r"\(").replace(")", r"\)")):
        read(content)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"hello", "not JSON: expecting value (column 1)"),
        (b'{"a": 1', "not JSON"),
        (b'{"a": 1} {"a": 2}', "not JSON: extra data"),
        (b'{"a": NaN}', "NaN is no number of JSON"),
        (b'{"a": -Infinity}', "-Infinity is no number of JSON"),
        (b'{"a": 1e999}', "1e999 is too large for a number"),
        (b'{"a": ' + b"9" * 5000 + b"}", "is too large for a number"),
        (b'{"a": 1, "a": 2}', 'the field "a" stands twice'),
        (b'{"b": {"a": 1, "a": 2}}', 'the field "a" stands twice'),
        (b"[1]", "not a JSON object"),
        (b"7", "not a JSON object"),
        (b'{"a": "\xff"}', "not UTF-8 (byte 8 of the line)"),
        (b'{"a": "\x00"}', "holds a NUL byte"),
        (b'{"a": "x\\u0000"}', "a text holds a NUL character"),
        (b'{"a": "\\ud800"}', "half of a surrogate pair"),
        (b'{"a":' * 100_000, "nested too deeply"),
    ],
)
def test_a_bad_line_is_refused_with_its_number(line: bytes, reason: str) -> None:
    with pytest.raises(ImportRefused) as refusal:
        read(b'{"a": 0}\n' + b" " * 600 + b"\n" + line + b'\n{"a": 0}\n')
    (bad,) = refusal.value.rows
    assert bad.line == 3
    assert reason in bad.reason
    assert str(refusal.value).startswith("f.jsonl:3: ")


def test_a_whole_surrogate_pair_in_escapes_is_read() -> None:
    assert read(b'{"a": "\\ud83d\\ude00 \\\\u0000"}') == [(1, {"a": "😀 \\u0000"})]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b'[{"a": 1},\n{"a": 2}', 2),
        (b'[{"a": 1},\n]', 2),
        (b'[{"a": 1}\n{"a": 2}]', 2),
        (b'[{"a": 1},\n 7]', 2),
        (b'[{"a": 1},\n {"a": NaN}]', 2),
        (b'[{"a": 1},\n {"a":\n x}]', 3),
        (b'[{"a": 1}]\nmore', 2),
        (b'[{"a": 1},\n{"a": "\xff"}]', 2),
    ],
)
def test_a_bad_array_is_refused_with_the_line(content: bytes, line: int) -> None:
    with pytest.raises(ImportRefused) as refusal:
        read(content)
    assert [bad.line for bad in refusal.value.rows] in ([line], [line - 1])
    assert str(refusal.value).startswith("f.jsonl:")


def test_a_file_with_very_many_bad_lines_is_given_up() -> None:
    with pytest.raises(ImportRefused, match="and 950 more"):
        read(b"no\n" * 5000)


def test_a_line_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_LINE", 2**20)
    with pytest.raises(UserError, match="longer than 1 MB"):
        read(b'{"a": "' + b"x" * 2**21)


def test_paths_that_are_no_readable_file_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nothing: there is no such file"):
        Source(tmp_path / "nothing")
    with pytest.raises(UserError, match="is a directory"):
        Source(tmp_path)
    closed = tmp_path / "closed"
    closed.write_text("{}")
    closed.chmod(0)
    if os.geteuid() != 0:  # root may read everything
        with pytest.raises(UserError, match="cannot be read: Permission denied"):
            Source(closed)
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(UserError, match="cannot be read"):
        Source(loop)


def test_a_small_object_is_read_under_the_same_rules() -> None:
    assert load_object("m.json", b'\xef\xbb\xbf{\n"a": 1}\r\n') == {"a": 1}
    with pytest.raises(UserError, match=r"m\.json: .*twice"):
        load_object("m.json", b'{"a": 1, "a": 1}')


@pytest.mark.parametrize("value", [True, 3.0, "3", [3], 0, -1, 13, 2**40])
def test_a_step_is_a_whole_number_within_the_trace(value: object) -> None:
    with pytest.raises(RefusedRow, match='"s"'):
        Fields({"s": value}).step("s", n_steps=12)


def test_a_step_is_read_and_null_is_none() -> None:
    fields = Fields({"s": 12, "none": None})
    assert (fields.step("s", n_steps=12), fields.step("none"), fields.step("gone")) == (12, None, None)


@pytest.mark.parametrize("value", [2, -1, 0.0, 1.0, "true", None, []])
def test_a_truth_is_true_false_one_or_zero(value: object) -> None:
    with pytest.raises(RefusedRow, match='"t"'):
        Fields({"t": value}).truth("t")


@pytest.mark.parametrize("value", ["", " a", "a ", "a\nb", "a\tb", "x" * 11, 5, None])
def test_an_identifier_is_one_short_printable_line(value: object) -> None:
    with pytest.raises(RefusedRow, match='"i"'):
        Fields({"i": value}).identifier("i", max_length=10)


def test_an_unknown_field_is_named() -> None:
    with pytest.raises(RefusedRow, match='unknown field "first_eror_step"'):
        Fields({"first_eror_step": 1}, known=frozenset({"first_error_step"}))


def test_a_head_that_is_no_csv_is_refused_in_words() -> None:
    """Found by fuzzing: a carriage return inside the first line."""
    source = Source.of_bytes("f.csv", b"q\ruestion_id,labeller\nq,ana\n")
    with pytest.raises(UserError, match="the head is not CSV"):
        list(csv_rows(source, {}))
