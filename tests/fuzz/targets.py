"""What may be fed with any bytes at all, and what must hold whatever they are.

Each target takes bytes; an exception that comes out of it is a finding. Nothing here touches a database.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser

from annotation.imports import debates, formats, label_rows, tables
from annotation.imports.labels import KINDS
from annotation.imports.reading import Row, Source, read_each
from core.errors import UserError
from core.mathtext import excerpt, render, render_inline
from llm.parsing import parse_step_verdict, parse_verdict
from monitoring.imports import released_labels, verdicts_csv

OUTCOMES = {"ok", "no_response", "refusal", "truncated", "invalid", "inconsistent"}
FINISH = ("stop", "length", "content_filter", None, 3)
N_STEPS = 12
EVENTS = re.compile(r"on[a-z]+$")
LINKS = {"href", "src", "action", "formaction", "xlink:href"}
FORBIDDEN = {
    "script",
    "style",
    "iframe",
    "object",
    "embed",
    "form",
    "input",
    "svg",
    "link",
    "meta",
    "base",
    "img",
}


def reply(data: bytes) -> None:
    """A reply parses to a verdict or a typed outcome that is whole in itself."""
    text = data[1:].decode("utf-8", "surrogateescape")
    finish = FINISH[data[0] % len(FINISH)] if data else None
    verdict = parse_verdict(text, n_steps=N_STEPS, finish_reason=finish)
    assert verdict.outcome in OUTCOMES, verdict
    assert verdict.has_error in (None, 0, 1), verdict
    step = verdict.first_error_step
    assert step is None or (type(step) is int and 1 <= step <= N_STEPS), verdict
    if verdict.outcome == "ok":
        assert verdict.has_error is not None and bool(verdict.has_error) == (step is not None), verdict
    confidence = verdict.error_confidence
    assert confidence is None or 0 <= confidence <= 100, verdict
    assert parse_verdict(text, n_steps=N_STEPS, finish_reason=finish) == verdict
    assert parse_step_verdict(text, finish_reason=finish).outcome in OUTCOMES


class _Watch(HTMLParser):
    """Fails for anything in a page that would run, load or lead to a script."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in FORBIDDEN, tag
        for name, value in attrs:
            assert not EVENTS.match(name), (tag, name)
            assert name != "style", (tag, value)
            if name in LINKS:
                plain = re.sub(r"[\x00-\x20]", "", value or "").lower()
                assert not plain.startswith(("javascript:", "data:", "vbscript:")), (tag, value)


def mathtext(data: bytes) -> None:
    """Any text becomes HTML that is inert, and the same HTML each time."""
    text = data.decode("utf-8", "replace")
    for made in (render(text), render_inline(text), render_inline(excerpt(text))):
        watch = _Watch()
        watch.feed(made)
        watch.close()
    assert render(text) == render(text)


def _all_of(name: str, data: bytes, rows: Callable[[Source], Iterator[object]]) -> None:
    try:
        with Source.of_bytes(name, data) as source:
            for _ in rows(source):
                pass
    except UserError:
        return  # refused in words: that is an answer


def traces(data: bytes) -> None:
    """A file of traces in any of the formats is read, or refused in words."""
    for format in ("falsestep", "processbench", "prm800k", "bigbench_mistake"):

        def one(row: Row, format: str = format) -> object:
            return formats.read(format, row)

        _all_of("fuzz.jsonl", data, lambda source, one=one: read_each(source, one))


def labels(data: bytes) -> None:
    """A file of labels, as CSV or JSON Lines, ours or the annotation tool's."""
    for name in ("fuzz.csv", "fuzz.jsonl"):
        _all_of(
            name,
            data,
            lambda s: read_each(s, lambda r: label_rows.read(r, arm="all"), rows=tables.rows_of(s, KINDS)),
        )
        _all_of(
            name,
            data,
            lambda s: read_each(
                s, lambda r: label_rows.read_tool(r, labeller="x"), rows=tables.rows_of(s, KINDS)
            ),
        )


def debate(data: bytes) -> None:
    """A file of debates."""
    _all_of("fuzz.jsonl", data, lambda source: read_each(source, debates.read))


def release(data: bytes) -> None:
    """The labels of a release, and a table of verdicts."""
    _all_of("fuzz.jsonl", data, lambda source: iter(released_labels.read_standard(source)))

    def verdicts(source: Source) -> Iterator[object]:
        for _, row in verdicts_csv._rows(source):
            assert all(isinstance(cell, str) for cell in row.values())
            yield row

    _all_of("fuzz.csv", data, verdicts)


TARGETS: dict[str, Callable[[bytes], None]] = {
    "reply": reply,
    "mathtext": mathtext,
    "traces": traces,
    "labels": labels,
    "debate": debate,
    "release": release,
}

# Beginnings, from which a fuzzer goes on.
SEEDS: dict[str, list[bytes]] = {
    "reply": [
        b'\x00{"has_error": true, "first_error_step": 3, "error_confidence": 80, "reason": "sign"}',
        b"\x01```json\n{'has_error': False, 'first_error_step': None,}\n```",
        b'\x00<think>{"has_error": 1</think> {"verdict": {"has_error": "yes", "first_error_step": "step 2"}}',
        b"\x02I cannot help with that.",
        b'\x00{"has_error": 1e999, "first_error_step": NaN, "error_confidence": -1}',
    ],
    "mathtext": [
        rb"Let $x^2 = \frac{1}{2}$ and \[\int_0^\infty e^{-x}\,dx\] with **bold** `code`",
        rb"\(\href{javascript:alert(1)}{x}\) <script>alert(1)</script> [a](javascript:alert(1))",
        rb"$$\begin{pmatrix} a & b \\ c & d \end{pmatrix}$$ \boxed{2} \unicode{x41} \style{color:red}{x}",
        b"![i](data:text/html,x) <svg onload=alert(1)> <a href='&#106;avascript:x'>x</a>",
        b"$" * 40 + b"{" * 40 + b"\\left(" * 20,
    ],
    "traces": [
        b'{"question_id": "q", "statement": "s", "reference_answer": "2", "traces": [{"response_label": "Response A",'
        b' "generator": "m", "text": "(1) a\\n(2) b"}]}\n',
        b'{"id": "x-1", "problem": "p", "steps": ["a", "b"], "label": 1,'
        b' "final_answer_correct": false, "generator": "g"}',
        b'{"input": "1 + 1 =", "steps": ["a", "b"], "target": "2", "answer": "3", "mistake_index": 1}',
    ],
    "labels": [
        b"q\ruestion_id,response_label,labeller\nq,Response A,ana\n",
        b"question_id,response_label,labeller,final_correct,first_error_step\nq,Response A,ana,1,3\n",
        b'{"question_id": "q", "response_label": "Response A", "labeller": "ana", "final_correct": true}\n',
    ],
    "debate": [
        b'{"question_id": "q", "response_label": "Response A", "rounds": [{"name": "R1", "model": "m", "said": {}}]}\n'
    ],
    "release": [
        b'{"question_id": "q", "response_label": "Response A", "gt_status": "ready", "strict_error": 1, '
        b'"final_is_correct": 1, "final_error_step": 2, "n_steps": 5}\r\n',
        b"question_id,response_label,monitor,condition,outcome,has_error,first_error_step\n"
        b"q,Response A,m,BLIND,ok,1,2\n",
    ],
}
