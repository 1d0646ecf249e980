"""BIG-Bench Mistake: chains of thought with the first mistake marked by people (0-based in the file)."""

from __future__ import annotations

import hashlib
from typing import Any

from annotation.imports.fields import Fields, check_step
from annotation.imports.reading import Row
from annotation.imports.records import LabelRecord, QuestionRecord, TraceRecord
from annotation.steps import listed

LABELLER = "bigbench-mistake"
GENERATOR = "unknown"
UNMARKED = "wrong final answer, yet no mistake is marked"
MARKED = "right final answer, yet a mistake is marked"


def matches(fields: dict[str, Any]) -> bool:
    """Whether a row looks like this format."""
    return {"input", "steps", "target", "mistake_index"} <= fields.keys()


def read(row: Row) -> QuestionRecord:
    """Read one chain of thought.

    The files give no ids, so a question is named by its text; the answer is right when it is the target. A
    row whose two judgements sit oddly together is kept as it is and listed for review.
    """
    fields = Fields(row.fields)
    statement = fields.text("input")
    target = fields.text("target")
    steps = fields.texts("steps")
    # No answer at all (null) occurs in the published files; it is a wrong one.
    correct = fields.text("answer", default="").strip() == target.strip()
    index = fields.whole("mistake_index", least=0) if fields.has("mistake_index") else None
    step = None if index is None else index + 1
    check_step('"mistake_index" (counted from 0) plus 1', step, len(steps))
    review = ""
    if correct != (step is None):
        review = MARKED if correct else UNMARKED
    return QuestionRecord(
        line=row.line,
        external_id=f"bbm-{hashlib.sha256(statement.encode()).hexdigest()[:16]}",
        statement=statement,
        answers=((target, ""),),
        subject="BIG-Bench Mistake",
        traces=(
            TraceRecord(
                cut=listed(steps),
                generator=GENERATOR,
                label=LabelRecord(
                    LABELLER, correct, step, comment=f"For review: {review}." if review else ""
                ),
                review=review,
            ),
        ),
    )
