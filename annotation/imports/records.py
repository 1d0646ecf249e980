"""What every format is read into: questions with traces, and labels; plain values, no database."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from annotation.steps import Cut

MAX_QUESTION_ID = 100
MAX_RESPONSE_LABEL = 60
MAX_GENERATOR = 100
MAX_LABELLER = 100
MAX_SUBJECT = 100
MAX_REASON = 500


@dataclass(frozen=True)
class LabelRecord:
    """One labeller's judgement that a file brings; steps counted from 1."""

    labeller: str
    final_correct: bool
    first_error_step: int | None
    first_error_step_min: int | None = None
    first_error_step_max: int | None = None
    comment: str = ""

    @property
    def values(self) -> tuple[bool, int | None, int | None, int | None]:
        """What was judged."""
        return (
            self.final_correct,
            self.first_error_step,
            self.first_error_step_min,
            self.first_error_step_max,
        )


class TraceRecord(NamedTuple):
    """One trace. Without a response label it takes the next free letter of its question."""

    cut: Cut
    response_label: str | None = None
    generator: str = ""
    label: LabelRecord | None = None
    review: str = ""


@dataclass(frozen=True)
class QuestionRecord:
    """One question and those of its traces that a row brings.

    `answers` are versions of the reference answer from 1 on: (text, reason), the first without a reason.
    """

    line: int
    external_id: str
    statement: str
    answers: tuple[tuple[str, str], ...]
    traces: tuple[TraceRecord, ...] = ()
    rationale: str = ""
    subject: str = ""
    status: str = "included"
    exclusion_reason: str = ""
    passed_over: str = field(default="", compare=False)


def letter(number: int) -> str:
    """Return the response label of a question's trace counted from 0: Response A, ..., Z, AA, AB, ..."""
    letters = ""
    number += 1
    while number:
        number, place = divmod(number - 1, 26)
        letters = chr(ord("A") + place) + letters
    return f"Response {letters}"
