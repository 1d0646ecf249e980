"""Turns what a monitor wrote into a verdict or a typed outcome: total, never raising, never guessing.

The last complete verdict of the reply counts. Thinking is not the reply, words quoted in strings are not a
verdict, an echo of the asked form is not one either. What cannot be read for certain is `invalid`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from llm.lenient import Object, descend
from llm.scan import Found, FoundObject, find_objects

Outcome = Literal["ok", "no_response", "refusal", "truncated", "invalid", "inconsistent", "provider_error"]

REASON_LENGTH = 600
PATH_LENGTH = 60
LARGEST_STEP = 1_000_000
_RAW_TEXT = 2_000
_RAW_ITEMS = 50

# What providers call an answer that they or the model declined to give, and one cut at the token limit.
_REFUSED = {
    "contentfilter",
    "refusal",
    "safety",
    "imagesafety",
    "blocklist",
    "prohibitedcontent",
    "recitation",
    "spii",
}
_CUT = {"length", "maxtokens", "maxoutputtokens", "maxlength", "modellength", "modelcontextwindowexceeded"}

_FLAG, _STEP, _CONFIDENCE, _REASON, _STEP_FLAG = (
    "haserror",
    "firsterrorstep",
    "errorconfidence",
    "reason",
    "stephaserror",
)
_VERDICT_KEYS = frozenset({_FLAG, _STEP, _CONFIDENCE})
_STEP_VERDICT_KEYS = frozenset({_STEP_FLAG, _CONFIDENCE})
_NOT_THE_ANSWER = frozenset({"schema", "properties", "format", "template", "example", "examples"})

_PLACEHOLDER = re.compile(
    r"<[^>]*>|\.\.\.|…|\||\b(?:int|integer|bool|boolean|number|null or|or null)\b"
    r"|^\s*(?:0\s*(?:or|/)\s*1|1\s*(?:or|/)\s*0|(?:true|yes)\s*(?:or|/)\s*(?:false|no))\s*$",
    re.IGNORECASE,
)
_FLAG_WORDS = {"0": 0, "0.0": 0, "false": 0, "no": 0, "1": 1, "1.0": 1, "true": 1, "yes": 1}
_NO_STEP_WORDS = frozenset({"", "none", "null", "nil", "n/a", "na", "undefined", "-", "–", "—"})
_STEP_TEXT = re.compile(
    r"(?:step\s*)?(?:no\.?\s*|number\s*|#\s*)?([(\[]?)\s*([0-9]{1,9})(?:\.0+)?\s*([)\]]?)\.?", re.I
)
_CONFIDENCE_TEXT = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,20})?)\s*(?:%|percent|/\s*100)?", re.IGNORECASE)
_UNTIDY = re.compile(r"[\x00-\x20\x7f-\xa0\u2028\u2029\ufeff]+")
_SURROGATE = re.compile("[\ud800-\udfff]")
_FENCED = re.compile(r"```[\w+-]*\s*(.*?)\s*```", re.DOTALL)


class _Unreadable(Exception):
    """A field that says nothing certain."""


@dataclass(frozen=True)
class ParsedVerdict:
    """The verdict of one reply on a whole trace.

    `has_error` is 0, 1 or None, `first_error_step` an int from 1 or None, `error_confidence` lies in 0 to 100
    or is None. They are set under the outcomes ok and inconsistent only. `path` tells how the verdict was
    found (at most 60 characters), `raw` holds its fields as written, safe to store as JSON.
    """

    outcome: Outcome
    has_error: int | None = None
    first_error_step: int | None = None
    error_confidence: float | None = None
    reason: str = ""
    path: str = ""
    raw: dict[str, Any] = field(default_factory=dict)

    def normalised(self) -> str:
        """Return the verdict as the JSON that was asked for; parsing it gives the same values."""
        return _dump(
            has_error=self.has_error,
            first_error_step=self.first_error_step,
            error_confidence=self.error_confidence,
            reason=self.reason,
        )


@dataclass(frozen=True)
class ParsedStepVerdict:
    """The verdict of one reply on the last step of a prefix; fields as in ParsedVerdict."""

    outcome: Outcome
    step_has_error: int | None = None
    error_confidence: float | None = None
    reason: str = ""
    path: str = ""
    raw: dict[str, Any] = field(default_factory=dict)

    def normalised(self) -> str:
        """Return the verdict as the JSON that was asked for; parsing it gives the same values."""
        return _dump(
            step_has_error=self.step_has_error, error_confidence=self.error_confidence, reason=self.reason
        )


def parse_verdict(text: object, *, n_steps: int | None, finish_reason: object = "stop") -> ParsedVerdict:
    """Read the verdict on a trace of `n_steps` steps (None: not known) from a reply.

    `text` may be a str, bytes or None; `finish_reason` is the provider's word. Never raises.
    """
    last = _read(text, finish_reason, flag=_FLAG, watched=_VERDICT_KEYS, required=(_STEP,))
    if isinstance(last, _Missing):
        return ParsedVerdict(last.outcome, path=last.path)
    raw = _raw(last.pairs)
    try:
        has_error = _as_flag(_single(last, _FLAG))
        step = _as_step(_single(last, _STEP), _limit(n_steps))
        confidence = _as_confidence(_single(last, _CONFIDENCE))
    except _Unreadable:
        return ParsedVerdict("invalid", path=last.path, raw=raw)
    outcome: Outcome = "ok" if (has_error == 1) == (step is not None) else "inconsistent"
    return ParsedVerdict(outcome, has_error, step, confidence, _as_reason(last.pairs), last.path, raw)


def parse_step_verdict(text: object, *, finish_reason: object = "stop") -> ParsedStepVerdict:
    """Read the verdict on one step (`step_has_error`) from a reply. Never raises."""
    last = _read(text, finish_reason, flag=_STEP_FLAG, watched=_STEP_VERDICT_KEYS, required=())
    if isinstance(last, _Missing):
        return ParsedStepVerdict(last.outcome, path=last.path)
    raw = _raw(last.pairs)
    try:
        flag = _as_flag(_single(last, _STEP_FLAG))
        confidence = _as_confidence(_single(last, _CONFIDENCE))
    except _Unreadable:
        return ParsedStepVerdict("invalid", path=last.path, raw=raw)
    return ParsedStepVerdict("ok", flag, confidence, _as_reason(last.pairs), last.path, raw)


@dataclass(frozen=True)
class _Missing:
    """No verdict in the reply, and why."""

    outcome: Outcome
    path: str


@dataclass(frozen=True)
class _Last:
    """The verdict that counts, and how it was found."""

    pairs: Object
    path: str
    doubtful: bool


def _read(
    text: object, finish_reason: object, *, flag: str, watched: frozenset[str], required: Sequence[str]
) -> _Missing | _Last:
    reply = _as_text(text)
    reason = re.sub(r"[^a-z]", "", finish_reason.lower()) if isinstance(finish_reason, str) else ""
    if reason in _REFUSED:
        return _Missing("refusal", "refused by the provider")
    found = find_objects(reply, watched=watched)
    verdicts: list[tuple[FoundObject, Object, int]] = []
    echoes = 0
    for candidate in found.objects:
        for pairs, depth in descend(candidate.value, flag, skip=_NOT_THE_ANSWER):
            if _is_echo(pairs, flag):
                echoes += 1
            else:
                verdicts.append((candidate, pairs, depth))
    if not verdicts:
        return _missing(found, cut=reason in _CUT, echoes=echoes)
    complete = [v for v in verdicts if all(v[1].values(name) for name in required)]
    chosen, pairs, depth = (complete or verdicts)[-1]
    path = _path(reply, found, chosen, nested=depth > 0, several=len(verdicts) > 1)
    return _Last(pairs, path, chosen.doubtful)


def _missing(found: Found, *, cut: bool, echoes: int) -> _Missing:
    if cut or found.unclosed_thinking or found.unfinished:
        where = "unclosed thinking" if found.unclosed_thinking else "unfinished verdict"
        return _Missing("truncated", where if found.unclosed_thinking or found.unfinished else "cut")
    if not found.visible:
        return _Missing("no_response", "only thinking" if found.thinking else "empty")
    return _Missing("invalid", "only an echo of the form" if echoes else "no verdict")


def _path(reply: str, found: Found, chosen: FoundObject, *, nested: bool, several: bool) -> str:
    body = reply.strip()
    own = reply[chosen.start : chosen.end]
    fence = _FENCED.fullmatch(body) if len(body) < len(own) + 80 else None
    words = ["whole" if body == own else "fenced" if fence and fence[1] == own else "embedded"]
    words += ["after thinking"] * found.thinking + ["last of several"] * several + ["nested"] * nested
    words += sorted(chosen.repairs)
    return ", ".join(words)[:PATH_LENGTH]


def _as_text(text: object) -> str:
    if isinstance(text, str):
        return text
    if isinstance(text, (bytes, bytearray, memoryview)):
        return bytes(text).decode("utf-8", "replace")
    return ""


def _is_echo(pairs: Object, flag: str) -> bool:
    """Whether the object only shows the asked form: "0 or 1", "int or null", a JSON schema."""
    flags, steps = pairs.values(flag), pairs.values(_STEP)
    if any(isinstance(value, (Object, list)) for value in flags) or any(isinstance(v, Object) for v in steps):
        return True
    texts = [v.strip().lower() for v in flags if isinstance(v, str)]
    texts = [text for text in texts if text not in _FLAG_WORDS]
    texts += [v.strip() for v in steps if isinstance(v, str) and not _STEP_TEXT.fullmatch(v.strip())]
    return any(_PLACEHOLDER.search(text[:200]) for text in texts)


def _single(last: _Last, name: str) -> Any:
    """Return the field's value, None where it is absent; a field given twice with two values says nothing."""
    values = last.pairs.values(name)
    if last.doubtful or any(repr(value) != repr(values[0]) for value in values):
        raise _Unreadable
    return values[0] if values else None


def _as_flag(value: Any) -> int:
    if isinstance(value, (bool, int, float)) and value in (0, 1):
        return int(value)
    if isinstance(value, str) and value.strip().lower() in _FLAG_WORDS:
        return _FLAG_WORDS[value.strip().lower()]
    raise _Unreadable


def _as_step(value: Any, limit: int) -> int | None:
    if value is None:
        return None
    if isinstance(value, str):
        text = value.strip().strip("*").strip()
        if text.lower() in _NO_STEP_WORDS:
            return None
        match = _STEP_TEXT.fullmatch(text)
        if match is None or match[1] + match[3] not in ("", "()", "[]", ")"):
            raise _Unreadable
        value = int(match[2])
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise _Unreadable
    if value != int(value) or not 1 <= value <= limit:
        raise _Unreadable
    return int(value)


def _as_confidence(value: Any) -> float | None:
    if isinstance(value, str):
        match = _CONFIDENCE_TEXT.fullmatch(value.strip())
        value = float(match[1]) if match else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 100:
        return None
    return int(value) if value == int(value) else float(value)


def _as_reason(pairs: Object) -> str:
    values = [value for value in pairs.values(_REASON) if isinstance(value, str)]
    return _tidy(values[-1])[:REASON_LENGTH].strip() if values else ""


def _tidy(text: str) -> str:
    """Return one line that every database can hold: no control characters, no halves of characters."""
    return _UNTIDY.sub(" ", _SURROGATE.sub("\ufffd", text)).strip()


def _limit(n_steps: object) -> int:
    if isinstance(n_steps, int) and not isinstance(n_steps, bool):
        return min(n_steps, LARGEST_STEP)
    return LARGEST_STEP


def _raw(pairs: Object) -> dict[str, Any]:
    """Return the pairs as plain JSON values; a repeated key keeps its last value."""
    return {_tidy(key)[:200]: _plain(value) for key, value in pairs.pairs[:_RAW_ITEMS]}


def _plain(value: Any) -> Any:
    if isinstance(value, Object):
        return _raw(value)
    if isinstance(value, list):
        return [_plain(item) for item in value[:_RAW_ITEMS]]
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value.replace("\0", "\ufffd"))[:_RAW_TEXT]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _dump(**fields: Any) -> str:
    return json.dumps(fields, ensure_ascii=False, allow_nan=False)
