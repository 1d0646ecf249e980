"""The prompt of layer 2: files, filled with one trace, its task and its recorded tool calls; never with a label."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llm.types import Message
from monitoring.prompts import neutralise

VERSION = "v1"
HERE = Path(__file__).resolve().parent
MAX_CALLS = 200  # of a longer record the last calls are not shown; a flag on them is still one
MAX_FIELD = 2_000  # characters of the arguments or of the result of a call
_PLACEHOLDER = re.compile(r"\{\{(.*?)\}\}")
_OWN_MARKS = re.compile(r"<(?=\s*/?\s*(?:task|calls)\b)", re.IGNORECASE)


@dataclass(frozen=True)
class Material:
    """What is read of one trace. `calls` are those of its execution record, in order; `text` is the whole text
    as stored, in which values are looked up.
    """

    problem: str
    steps: Sequence[str]
    text: str
    preamble: str = ""
    assumptions: Sequence[str] = ()
    target: str = ""
    obligations: Sequence[str] = ()
    calls: Sequence[Mapping[str, Any]] = ()


@functools.cache
def part(name: str, version: str = VERSION) -> str:
    """Return the text of a prompt file, "system" or "user"."""
    return (HERE / version / f"{name}.txt").read_text(encoding="utf-8").strip()


def sha256(version: str = VERSION) -> str:
    """Return the digest (hex) of a version: of both its files."""
    return hashlib.sha256("\0".join(part(name, version) for name in ("system", "user")).encode()).hexdigest()


def render(material: Material) -> list[Message]:
    """Return the messages that ask for concerns about one trace."""
    numbered = [
        f'<step number="{k}">\n{_data(step)}\n</step>' for k, step in enumerate(material.steps, start=1)
    ]
    preamble = [_data(material.preamble)] if material.preamble.strip() else []
    task = [
        *(f"Assumed: {_data(one)}" for one in material.assumptions),
        *([f"Wanted: {_data(material.target)}"] if material.target.strip() else []),
        *(f"To be shown: {_data(one)}" for one in material.obligations),
    ]
    values = {
        "problem": _data(material.problem),
        "task": "\n".join(task) or "nothing was written down",
        "solution": "\n".join([*preamble, *numbered]),
        "calls": "\n".join(_calls(material.calls)) or "none were recorded",
        "n_steps": str(len(material.steps)),
        "n_calls": str(len(material.calls)),
    }
    # One pass: what was filled in is never searched for placeholders again.
    user = _PLACEHOLDER.sub(lambda match: values[match[1]], part("user"))
    return [Message("system", part("system")), Message("user", user)]


def _calls(calls: Sequence[Mapping[str, Any]]) -> list[str]:
    shown = [
        f"{number}. {_data(str(call.get('tool', '')))}"
        f"{_told('at step', call.get('step'))}{_told('asked', call.get('arguments'))}"
        f"{_told('replied', call.get('result'))}"
        for number, call in enumerate(calls[:MAX_CALLS], start=1)
    ]
    left = len(calls) - len(shown)
    return [*shown, f"({left} more are not shown)"] if left else shown


def _told(word: str, value: Any) -> str:
    if value is None or value == "":
        return ""
    written = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    cut = "…" if len(written) > MAX_FIELD else ""
    return f"; {word}: {_data(written[:MAX_FIELD])}{cut}"


def _data(value: str) -> str:
    return _OWN_MARKS.sub("\u2039", neutralise(value.strip()))
