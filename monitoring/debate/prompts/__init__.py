"""The prompts of the debate: files, filled with one trace and what earlier rounds said."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from llm.types import Message
from monitoring.prompts import neutralise

VERSION = "v1"
HERE = Path(__file__).resolve().parent
NAMES = ("system", "case", "R1", "R2", "R3", "blind", "consensus")
_PLACEHOLDER = re.compile(r"\{\{(.*?)\}\}")
_OWN_MARKS = re.compile(r"<(?=\s*/?\s*(?:earlier|rationale)\b)", re.IGNORECASE)


@functools.cache
def text(name: str, version: str = VERSION) -> str:
    """Return the text of a prompt file."""
    return (HERE / version / f"{name}.txt").read_text(encoding="utf-8").strip()


def sha256(version: str = VERSION) -> str:
    """Return the digest (hex) of a version: of all its files."""
    return hashlib.sha256("\0".join(text(name, version) for name in NAMES).encode()).hexdigest()


def render(
    name: str,
    *,
    question: str,
    answer: str,
    rationale: str,
    preamble: str,
    steps: Sequence[str],
    error_definition: str,
    earlier: Mapping[str, Mapping[str, Any] | None],
) -> list[Message]:
    """Return the messages of a round; `earlier` holds what the rounds said that it is told of, by name."""
    numbered = [f'<step number="{k}">\n{_data(step)}\n</step>' for k, step in enumerate(steps, start=1)]
    told = [
        f"{round_name}: {'not available' if said is None else json.dumps(said, ensure_ascii=False)}"
        for round_name, said in earlier.items()
    ]
    values = {
        "problem": _data(question),
        "answer": _data(answer) or "none was given",
        "rationale": _data(rationale) or "none was given",
        "solution": "\n".join([*([_data(preamble)] if preamble.strip() else []), *numbered]),
        "error_definition": error_definition.strip(),
        "earlier": _data("\n".join(told)),
        "n_steps": str(len(steps)),
    }
    filled = [_PLACEHOLDER.sub(lambda match: values[match[1]], part) for part in (text("case"), text(name))]
    return [Message("system", text("system")), Message("user", "\n\n".join(filled))]


def _data(value: str) -> str:
    return _OWN_MARKS.sub("\u2039", neutralise(value.strip()))
