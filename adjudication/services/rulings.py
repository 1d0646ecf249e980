"""What makes a ruling hold together: its values, its steps, its words. No database here."""

from __future__ import annotations

from collections.abc import Sequence

from adjudication.judgements import Judgement
from adjudication.masking import Proposal
from adjudication.models import Decision
from core.errors import UserError


class InvalidDecision(UserError):
    """A ruling that does not hold together; `field` names the input to mend."""

    def __init__(self, message: str, *, field: str = "") -> None:
        self.field = field
        super().__init__(message)


LAST_STEP = 100_000  # where a text-free trace does not tell its length


def ruling_of(
    choice: str, mark: str, given: Judgement | None, shown: Sequence[Proposal], *, n_steps: int | None
) -> Judgement | None:
    """Return the values that a choice stands for, None for an unusable question."""
    if choice == Decision.Choice.UNUSABLE:
        return None
    if choice == Decision.Choice.PROPOSAL:
        for proposal in shown:
            if proposal.mark == mark:
                return proposal
        marks = ", ".join(proposal.mark for proposal in shown)
        raise InvalidDecision(f'there is no proposal "{mark}"; there are {marks}', field="choice")
    if choice not in (Decision.Choice.BOTH, Decision.Choice.OTHER):
        raise InvalidDecision(f'"{choice}" is no ruling on a dispute', field="choice")
    if given is None:
        raise InvalidDecision("say whether the final answer is right or wrong", field="final_correct")
    if choice == Decision.Choice.BOTH and given.first_error_step is None:
        raise InvalidDecision(
            "name the step that counts, within the defensible range", field="first_error_step"
        )
    if choice == Decision.Choice.BOTH and given.range is None:
        raise InvalidDecision(
            "say from which to which step the first false one is defensible", field="first_error_step_min"
        )
    check_steps(given, n_steps=n_steps)
    return given


def check_steps(judgement: Judgement, *, n_steps: int | None) -> None:
    """Raise InvalidDecision unless steps are 1..n_steps (no end if unknown) and the range holds its point."""
    steps = {
        "first_error_step": judgement.first_error_step,
        "first_error_step_min": judgement.first_error_step_min,
        "first_error_step_max": judgement.first_error_step_max,
    }
    for field, step in steps.items():
        if step is None:
            continue
        if step < 1:
            raise InvalidDecision(f"there is no step {step}: steps are counted from 1", field=field)
        if n_steps is None and step > LAST_STEP:
            raise InvalidDecision(f"there is no step {step}", field=field)
        if n_steps is not None and step > n_steps:
            raise InvalidDecision(f"there is no step {step}: this solution has {n_steps}", field=field)
    point, low, high = steps.values()
    if (low is None) != (high is None):
        missing = "first_error_step_min" if low is None else "first_error_step_max"
        raise InvalidDecision("a range needs both its ends", field=missing)
    if low is None or high is None:
        return
    if point is None:
        raise InvalidDecision("a range needs the step that counts", field="first_error_step")
    if not low <= point <= high:
        raise InvalidDecision(
            f"step {point} lies outside the range {low} to {high}", field="first_error_step"
        )


def required(value: str, message: str, field: str, *, limit: int | None = None) -> str:
    """Return the text without outer space; InvalidDecision with the message when nothing is left."""
    text = checked(value, field, limit=limit)
    if not text:
        raise InvalidDecision(message, field=field)
    return text


def checked(value: str, field: str, *, limit: int | None = None) -> str:
    """Return the text without outer space; InvalidDecision when it is too long or cannot be stored."""
    text = value.strip()
    if "\x00" in text:
        raise InvalidDecision("a text cannot hold the character NUL", field=field)
    if limit is not None and len(text) > limit:
        raise InvalidDecision(f"at most {limit} characters fit here, these are {len(text)}", field=field)
    return text
