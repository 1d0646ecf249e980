"""Filling a prompt: what comes from outside is data, and cannot end the block it stands in."""

from __future__ import annotations

import re
from collections.abc import Sequence

from llm.types import Message
from monitoring.prompts.store import PLACEHOLDER, PromptError, load

TAGS = ("problem", "solution", "step", "reference_answer", "proposed_answer")

# Spaces and characters without width, which a model may read over, may stand between the signs of a mark.
_GAP = r"[\s\u00ad\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]*"
_NAMES = "|".join(_GAP.join(map(re.escape, tag)) for tag in TAGS)
_OPENING = "[<\uff1c\ufe64]"
_MARK = re.compile(rf"{_OPENING}(?={_GAP}/?{_GAP}(?:{_NAMES})(?![A-Za-z]))", re.IGNORECASE)
# The marks by which open models' chat templates part one turn from the next.
_TURN = re.compile(r"<(?=\|[A-Za-z_]+\|>)")


def neutralise(text: str) -> str:
    """Return the text with the opening sign of anything that reads as one of our marks made harmless."""
    return _TURN.sub("\u2039", _MARK.sub("\u2039", text))


def render(
    condition: str,
    *,
    question: str,
    steps: Sequence[str],
    error_definition: str,
    reference_answer: str | None = None,
    preamble: str = "",
    version: str | None = None,
) -> list[Message]:
    """Return the messages that ask a monitor for its verdict on one trace.

    `steps` are the texts of steps 1..n in order; `reference_answer` is the answer that the condition grants.
    Raises PromptError if BLIND is given an answer, if HINT or CERT lacks one, or if there are no steps.
    """
    prompt = load(condition, version)
    values = {
        "problem": neutralise(question.strip()),
        "solution": _solution(steps, preamble),
        "n_steps": str(len(steps)),
        "error_definition": error_definition.strip(),
    }
    grants_answer = "{{answer}}" in prompt.user
    if grants_answer:
        if reference_answer is None or not reference_answer.strip():
            raise PromptError(f"{condition} shows an answer, and none was given")
        values["answer"] = neutralise(reference_answer.strip())
    elif reference_answer is not None:
        raise PromptError(f"{condition} withholds the reference answer, and one was given")
    # One pass: what was filled in is never searched for placeholders again.
    user = PLACEHOLDER.sub(lambda match: values[match[1]], prompt.user)
    return [Message("system", prompt.system), Message("user", user)]


def _solution(steps: Sequence[str], preamble: str) -> str:
    if not steps:
        raise PromptError("a solution without steps cannot be shown")
    parts = [neutralise(preamble.strip())] if preamble.strip() else []
    for number, text in enumerate(steps, start=1):
        parts.append(f'<step number="{number}">\n{neutralise(text.strip())}\n</step>')
    return "\n".join(parts)
