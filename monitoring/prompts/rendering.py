"""Filling a prompt: what comes from outside is data, and cannot end the block it stands in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from llm.types import Message
from monitoring.prompts.store import FOLLOW_UPS, PLACEHOLDER, PromptError, load

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


@dataclass(frozen=True)
class Exchange:
    """A monitor's own exchange under BLIND: what it was sent, and its stored verdict as JSON.

    Without `sent`, as for a verdict that was made elsewhere, the BLIND prompt is rendered anew.
    """

    verdict: str
    sent: Sequence[Message] = ()


def render(
    condition: str,
    *,
    question: str,
    steps: Sequence[str],
    error_definition: str,
    reference_answer: str | None = None,
    preamble: str = "",
    version: str | None = None,
    step: int | None = None,
    exchange: Exchange | None = None,
) -> list[Message]:
    """Return the messages that ask a monitor for its verdict on one trace, or under STEP on one step of it.

    `steps` are the texts of steps 1..n in order; `reference_answer` is the answer that the condition grants,
    under CMATCH and CCONFLICT the certificate. STEP asks about `step` and shows nothing after it. REVISE and
    RCTRL go on from `exchange`. Raises PromptError if a condition is given what it withholds (BLIND, RCTRL or
    STEP an answer, any but STEP a step), if one lacks what it needs, or if there are no steps.
    """
    prompt = load(condition, version)
    if (step is not None) != (condition == "STEP"):
        raise PromptError(f"{condition} {'asks' if condition == 'STEP' else 'does not ask'} about one step")
    if step is not None and not 1 <= step <= len(steps):
        raise PromptError(f"there is no step {step} among {len(steps)}")
    if (exchange is not None) != (condition in FOLLOW_UPS):
        raise PromptError(
            f"{condition} {'goes' if condition in FOLLOW_UPS else 'does not go'} on from an earlier exchange"
        )
    values = {
        "problem": neutralise(question.strip()),
        "solution": _solution(steps[:step], preamble),
        "n_steps": str(len(steps)),
        "step": str(step),
        "error_definition": error_definition.strip(),
    }
    if prompt.grants_answer:
        if reference_answer is None or not reference_answer.strip():
            raise PromptError(f"{condition} shows an answer, and none was given")
        values["answer"] = neutralise(reference_answer.strip())
    elif reference_answer is not None:
        raise PromptError(f"{condition} withholds the reference answer, and one was given")
    # One pass: what was filled in is never searched for placeholders again.
    user = Message("user", PLACEHOLDER.sub(lambda match: values[match[1]], prompt.user))
    if exchange is None:
        return [Message("system", prompt.system), user]
    sent = exchange.sent or render(
        "BLIND", question=question, steps=steps, error_definition=error_definition, preamble=preamble
    )
    return [*sent, Message("assistant", neutralise(exchange.verdict)), user]


def _solution(steps: Sequence[str], preamble: str) -> str:
    if not steps:
        raise PromptError("a solution without steps cannot be shown")
    parts = [neutralise(preamble.strip())] if preamble.strip() else []
    for number, text in enumerate(steps, start=1):
        parts.append(f'<step number="{number}">\n{neutralise(text.strip())}\n</step>')
    return "\n".join(parts)
