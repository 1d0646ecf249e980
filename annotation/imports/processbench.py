"""ProcessBench: solutions to competition problems with the first wrong step (0-based, -1 for none)."""

from __future__ import annotations

from typing import Any

from annotation.imports.fields import Fields, RefusedRow, check_step
from annotation.imports.reading import Row
from annotation.imports.records import (
    MAX_GENERATOR,
    MAX_QUESTION_ID,
    LabelRecord,
    QuestionRecord,
    TraceRecord,
    letter,
)
from annotation.steps import listed

LABELLER = "processbench"
UNMARKED = "wrong final answer, yet no mistake is marked"


def matches(fields: dict[str, Any]) -> bool:
    """Whether a row looks like this format."""
    return {"problem", "steps", "final_answer_correct", "label"} <= fields.keys()


def read(row: Row) -> QuestionRecord:
    """Read one solution. The files give no reference answers, so the question has none."""
    fields = Fields(row.fields)
    steps = fields.texts("steps")
    index = fields.whole("label", least=-1)
    step = None if index == -1 else index + 1
    check_step('"label" (counted from 0) plus 1', step, len(steps))
    correct = fields.truth("final_answer_correct")
    review = UNMARKED if not correct and step is None else ""
    if not any(text.strip() for text in steps):
        raise RefusedRow('"steps" holds nothing but blanks')
    return QuestionRecord(
        line=row.line,
        external_id=fields.identifier("id", max_length=MAX_QUESTION_ID),
        statement=fields.text("problem"),
        answers=(),
        subject="ProcessBench",
        traces=(
            TraceRecord(
                cut=listed(steps),
                response_label=letter(0),
                generator=fields.identifier("generator", max_length=MAX_GENERATOR, default=""),
                label=LabelRecord(
                    LABELLER, correct, step, comment=f"For review: {review}." if review else ""
                ),
                review=review,
            ),
        ),
    )
