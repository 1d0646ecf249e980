"""Parsing a monitor's reply is total: a verdict or a typed outcome, and never a guess."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm.parsing import ParsedVerdict, parse_step_verdict, parse_verdict
from llm.scan import WORK_PER_CHARACTER, find_objects
from tests.llm.reply_cases import CASES, CLEAN, GOOD, Case

WATCHED = frozenset({"haserror", "firsterrorstep", "errorconfidence"})


def _values(verdict: ParsedVerdict) -> tuple[Any, ...]:
    return verdict.outcome, verdict.has_error, verdict.first_error_step, verdict.error_confidence


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_reads(case: Case) -> None:
    verdict = parse_verdict(case.reply, n_steps=case.n_steps, finish_reason=case.finish_reason)
    if isinstance(case.expect, tuple):
        assert _values(verdict) == case.expect
        assert isinstance(verdict.has_error, int)
        assert not isinstance(verdict.has_error, bool)
    else:
        assert _values(verdict) == (case.expect, None, None, None)
    _assert_storable(verdict)


def test_case_names_are_unique() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 60


def test_it_reads_the_shared_replies(shared: Path) -> None:
    lines = (shared / "cases" / "replies.jsonl").read_text(encoding="utf-8").splitlines()
    wrong = []
    for case in map(json.loads, lines):
        verdict = parse_verdict(case["reply"], n_steps=case["n_steps"], finish_reason=case["finish_reason"])
        got = {name: getattr(verdict, name) for name in case["expect"]}
        if got != case["expect"]:
            wrong.append((case["name"], got))
    assert lines
    assert wrong == []


def test_an_invalid_verdict_keeps_what_was_written() -> None:
    verdict = parse_verdict('{"has_error": 1, "first_error_step": 13, "x": NaN}', n_steps=12)
    assert verdict.outcome == "invalid"
    assert verdict.raw == {"has_error": 1, "first_error_step": 13, "x": "nan"}


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (r"\nu and \rho and \theta", r"\nu and \rho and \theta"),
        (r"\frac{1}{2} \beta", r"\frac{1}{2} \beta"),
        (r"first\nsecond\tthird", "first second third"),
        (r"\\frac \\nu", r"\frac \nu"),
        (r"\u00e9t\u00e9 \ud83d\ude00", "été \U0001f600"),
        (r"\(x\) \{y\} \upsilon \underline{u}", r"\(x\) \{y\} \upsilon \underline{u}"),
        ("a\n\n  b", "a b"),
        ("x" * 700, "x" * 600),
    ],
)
def test_the_reason_keeps_its_mathematics(written: str, read: str) -> None:
    verdict = parse_verdict(GOOD[:-1] + f', "reason": "{written}"}}', n_steps=12)
    assert (verdict.outcome, verdict.reason) == ("ok", read)


@pytest.mark.parametrize(
    ("reply", "path"),
    [
        (GOOD, "whole"),
        (f"\n```json\n{GOOD}\n```\n", "fenced"),
        (f"So: {GOOD}", "embedded"),
        (f"<think>x</think>{CLEAN}{GOOD}", "embedded, after thinking, last of several"),
        (f'{{"verdict": {GOOD}}}', "whole, nested"),
        ("{'has_error': True, 'first_error_step': 4,}", "whole, commas, literals, quotes"),
        ("", "empty"),
        ("<think>x</think>", "only thinking"),
        ("<think>x", "unclosed thinking"),
        (GOOD[:-1], "unfinished verdict"),
        ("no idea", "no verdict"),
        ('{"has_error": "0 or 1"}', "only an echo of the form"),
    ],
)
def test_the_path_tells_how_the_verdict_was_found(reply: str, path: str) -> None:
    assert parse_verdict(reply, n_steps=12, finish_reason="stop").path == path


@pytest.mark.parametrize(
    ("reply", "finish_reason", "expect"),
    [
        ('{"step_has_error": 1, "error_confidence": 60, "reason": "x"}', "stop", ("ok", 1, 60)),
        ('{"step_has_error": false}', "stop", ("ok", 0, None)),
        ('<think>{"step_has_error": 1}</think>{"step_has_error": 0}', "stop", ("ok", 0, None)),
        ('{"has_error": 1, "first_error_step": 3}', "stop", ("invalid", None, None)),
        ('{"step_has_error": "0 or 1"}', "stop", ("invalid", None, None)),
        ('{"step_has_error": 0, "step_has_error": 1}', "stop", ("invalid", None, None)),
        ('{"step_has_error": 1, "rea', "stop", ("truncated", None, None)),
        ("", "content_filter", ("refusal", None, None)),
        (None, "stop", ("no_response", None, None)),
    ],
)
def test_a_step_verdict_is_read_alike(reply: str | None, finish_reason: str, expect: tuple[Any, ...]) -> None:
    verdict = parse_step_verdict(reply, finish_reason=finish_reason)
    assert (verdict.outcome, verdict.step_has_error, verdict.error_confidence) == expect


HOSTILE = {
    "braces": "{" * 100_000,
    "closing braces": "}" * 100_000,
    "brackets": "[" * 100_000,
    "open keys": '{"a":' * 20_000,
    "open watched keys": '{"has_error":' * 8_000,
    "open lists": '{"a":[' * 16_000,
    "open strings": '{"' * 50_000,
    "open mixed strings": "{'\"" * 33_000,
    "keys without values": '{"a" ' * 20_000,
    "escaped quotes": '{"a": "' + '\\"' * 50_000,
    "escaped quotes in broken verdicts": '{"has_error": 0 or 1 ' + '"\\"{' * 25_000,
    "broken verdicts": '{"has_error": 0 or 1 ' * 5_000,
    "bare quotes": '{"a": "b" c ' * 9_000,
    "bare quotes, long strings": '{"a": "b" c "' * 8_000,
    "typographic quotes": "{“a”: “b" * 12_000,
    "blanks": "{" + " " * 100_000,
    "blanks and braces": ("{" + " " * 300) * 330,
    "thoughts": "<think>" * 14_000,
    "ends of thoughts": "{</think>" * 11_000,
    "channels": "<|channel|>analysis" * 5_000,
    "numbers": '{"a":' + "1" * 100_000,
    "backslashes": '{"a":"' + "\\" * 99_999,
    "flat": '{"a":[' + "{}," * 33_000,
    "quote ladder": "".join('{"' + "a" * k for k in range(400)),
    "nested as deep as allowed": ('{"a":' * 16 + "1" + "}" * 16) * 1_000,
    "nested deeper than allowed": ('{"a":' * 40 + "1" + "}" * 40) * 400,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_the_work_is_bounded_by_a_constant_times_the_length(name: str) -> None:
    text = HOSTILE[name]
    found = find_objects(text, watched=WATCHED)
    # The budget, one try that begins within it and ends past it, and one last pass without going back.
    assert found.work <= (WORK_PER_CHARACTER + 5) * len(text) + 100
    assert parse_verdict(text[:10_000], n_steps=12).outcome in ("invalid", "truncated", "no_response")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_verdict_after_hostile_text_is_read_or_missed_but_never_misread(name: str) -> None:
    verdict = parse_verdict(HOSTILE[name][:20_000] + "\n\n" + GOOD, n_steps=12)
    assert _values(verdict) == ("ok", 1, 4, 70) or verdict.outcome in ("invalid", "truncated")


def test_stray_braces_do_not_hide_a_verdict() -> None:
    assert _values(parse_verdict("{" * 100_000 + GOOD, n_steps=12)) == ("ok", 1, 4, 70)
    assert _values(parse_verdict('{"a":' * 1_000 + GOOD, n_steps=12)) == ("ok", 1, 4, 70)


def _assert_storable(verdict: ParsedVerdict) -> None:
    """The reason and the raw fields fit a text and a JSON column of either database."""
    text = json.dumps(verdict.raw, allow_nan=False, ensure_ascii=False) + verdict.reason + verdict.path
    text.encode("utf-8")
    assert "\0" not in text
    assert "\\u0000" not in json.dumps(verdict.raw)
    assert len(verdict.path) <= 60


PIECES = st.sampled_from(
    [
        *('{"has_error": 1', ', "first_error_step": ', "4", "}", "{", '"', "'", "\\", "<think>", "</think>"),
        *(
            "```json\n",
            "null",
            "NaN",
            "[",
            "]",
            ":",
            ",",
            "\n",
            " ",
            "reason",
            '"reason": "',
            "true",
            "1e999",
        ),
        *(
            "\ud800",
            "\0",
            "has_error",
            "“",
            "”",
            GOOD,
            CLEAN,
            "\\u00",
            "0 or 1",
            "9" * 40,
            "\\frac",
            "%",
            "-",
        ),
        *("<|channel|>final<|message|>", '"step_has_error": '),
    ]
)
TEXTS = st.one_of(
    st.text(st.characters(), max_size=200),
    st.lists(PIECES, max_size=30).map("".join),
    st.binary(max_size=50),
    st.none(),
)


@given(
    text=TEXTS,
    n_steps=st.one_of(st.none(), st.integers(-3, 40)),
    finish=st.one_of(st.none(), st.text(max_size=8), st.sampled_from(["stop", "length", "content_filter"])),
)
def test_it_is_total_and_its_parts_agree(text: Any, n_steps: int | None, finish: str | None) -> None:
    verdict = parse_verdict(text, n_steps=n_steps, finish_reason=finish)
    step, flag = verdict.first_error_step, verdict.has_error
    if verdict.outcome == "ok":
        assert (flag, step is None) in ((0, True), (1, False))
    elif verdict.outcome == "inconsistent":
        assert (flag, step is None) in ((0, False), (1, True))
    else:
        assert flag is step is verdict.error_confidence is None
    assert step is None or (step >= 1 and (n_steps is None or step <= n_steps))
    assert verdict.error_confidence is None or 0 <= verdict.error_confidence <= 100
    _assert_storable(verdict)
    parse_step_verdict(text, finish_reason=finish)


@given(text=TEXTS)
def test_reading_its_own_normal_form_changes_nothing(text: Any) -> None:
    first = parse_verdict(text, n_steps=None)
    if first.outcome in ("ok", "inconsistent"):
        again = parse_verdict(first.normalised(), n_steps=None)
        assert (_values(again), again.reason, again.path) == (_values(first), first.reason, "whole")
    step = parse_step_verdict(text)
    if step.outcome == "ok":
        twice = parse_step_verdict(step.normalised())
        assert (twice.step_has_error, twice.error_confidence, twice.reason) == (
            step.step_has_error, step.error_confidence, step.reason,
        )  # fmt: skip


VERDICTS = st.builds(
    lambda flag, step, confidence, reason: {
        "has_error": flag, "first_error_step": step, "error_confidence": confidence, "reason": reason,
    },
    st.sampled_from([0, 1, True, False]),
    st.one_of(st.none(), st.integers(0, 15)),
    st.one_of(st.none(), st.integers(-5, 120), st.floats()),
    st.text(max_size=80),
)  # fmt: skip
PROSE = st.text(st.characters(exclude_characters="<[◁“‘\"'", exclude_categories=["Cs"]), max_size=60).map(
    lambda text: text.replace("{", "{ ")
)


@given(verdict=VERDICTS, before=PROSE, after=PROSE, fence=st.booleans(), ascii_only=st.booleans())
def test_prose_and_fences_around_it_change_nothing(
    verdict: dict[str, Any], before: str, after: str, fence: bool, ascii_only: bool
) -> None:
    body = json.dumps(verdict, ensure_ascii=ascii_only)
    plain = parse_verdict(body, n_steps=12)
    wrapped = f"{before}\n```json\n{body}\n```\n{after}" if fence else f"{before}\n{body}\n{after}"
    again = parse_verdict(wrapped, n_steps=12)
    assert (_values(again), again.reason, again.raw) == (_values(plain), plain.reason, plain.raw)


@given(verdict=VERDICTS)
def test_strict_json_is_read_as_json(verdict: dict[str, Any]) -> None:
    """Against an independent reading: Python's own json module and the rules written out."""
    parsed = parse_verdict(json.dumps(verdict), n_steps=12)
    step = verdict["first_error_step"]
    if step is not None and not 1 <= step <= 12:
        assert parsed.outcome == "invalid"
        return
    assert parsed.has_error == int(verdict["has_error"])
    assert parsed.first_error_step == step
    assert (parsed.outcome == "ok") == (bool(verdict["has_error"]) == (step is not None))
    confidence = verdict["error_confidence"]
    in_range = confidence is not None and 0 <= confidence <= 100
    assert parsed.error_confidence == (confidence if in_range else None)


@pytest.mark.parametrize(
    "frame",
    [
        '{%s, "reason": "step 9 says Q here"}',
        '{%s, "reason": "Q"}',
        '{"reason": "step 9 says Q here", %s}',
        '{%s, "reason": "the "net" Q c"}',
        '{%s, "reason": "step 9 says Q',
        '{"verdict": {%s, "reason": "Q"}}',
        '{"reason": "Q", "verdict": {%s}}',
    ],
)
@pytest.mark.parametrize(
    "quoted",
    [
        '{"has_error": 0, "first_error_step": null}',
        "{'has_error': 0, 'first_error_step': None}",
        r"{\"has_error\": 0, \"first_error_step\": null}",
        '```json\n{"has_error": 0, "first_error_step": null}\n```',
        '</think>{"has_error": 0, "first_error_step": null}',
        "{has_error: 0}",
        '"{"has_error": 0}"',
    ],
)
def test_words_quoted_in_the_reason_never_become_the_verdict(frame: str, quoted: str) -> None:
    """However badly it is escaped; only text that closes string and object cannot be told apart."""
    reply = (frame % GOOD[1:-1]).replace("Q", quoted)
    for finish_reason in ("stop", "length"):
        verdict = parse_verdict(reply, n_steps=12, finish_reason=finish_reason)
        assert _values(verdict) == ("ok", 1, 4, 70) or verdict.outcome in ("invalid", "truncated")
