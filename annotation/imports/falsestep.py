"""Our own JSON Lines: one question with its traces a line (docs/formats.md)."""

from __future__ import annotations

from typing import Any

from annotation.imports.fields import Fields, RefusedRow
from annotation.imports.reading import Row
from annotation.imports.records import (
    MAX_GENERATOR,
    MAX_QUESTION_ID,
    MAX_REASON,
    MAX_RESPONSE_LABEL,
    MAX_SUBJECT,
    QuestionRecord,
    TraceRecord,
)
from annotation.steps import cut, listed

QUESTION_FIELDS = frozenset(
    {
        "canary",  # of an export; the study it comes to has its own
        "question_id",
        "statement",
        "reference_answer",
        "corrected_answer",
        "rationale",
        "subject",
        "status",
        "exclusion_reason",
        "traces",
    }
)
TRACE_FIELDS = frozenset({"response_label", "generator", "text", "steps"})
CORRECTION_FIELDS = frozenset({"text", "reason"})


def matches(fields: dict[str, Any]) -> bool:
    """Whether a row looks like this format."""
    return "question_id" in fields and "traces" in fields


def read(row: Row) -> QuestionRecord:
    """Read one question; RefusedRow says what is wrong with it."""
    fields = Fields(row.fields, known=QUESTION_FIELDS)
    answers = [(fields.text("reference_answer"), "")]
    if fields.has("corrected_answer"):
        correction = Fields(fields.values["corrected_answer"], known=CORRECTION_FIELDS, at="corrected_answer")
        answers.append((correction.text("text"), correction.text("reason")))
    status = fields.choice("status", ("included", "excluded"), default="included")
    reason = fields.text("exclusion_reason", default="", max_length=MAX_REASON)
    if (status == "excluded") != bool(reason.strip()):
        raise RefusedRow('a question is excluded exactly when "exclusion_reason" says why')
    traces = tuple(
        _trace(part, f"traces[{number}]") for number, part in enumerate(fields.parts("traces"), start=1)
    )
    labels = [trace.response_label for trace in traces]
    for label in labels:
        if labels.count(label) > 1:
            raise RefusedRow(f'two traces are called "{label}"')
    return QuestionRecord(
        line=row.line,
        external_id=fields.identifier("question_id", max_length=MAX_QUESTION_ID),
        statement=fields.text("statement"),
        answers=tuple(answers),
        traces=traces,
        rationale=fields.text("rationale", default=""),
        subject=fields.text("subject", default="", max_length=MAX_SUBJECT),
        status=status,
        exclusion_reason=reason,
    )


def _trace(part: Any, at: str) -> TraceRecord:
    fields = Fields(part, known=TRACE_FIELDS, at=at)
    if fields.has("text") == fields.has("steps"):
        raise RefusedRow(f'{at} must have either "text" or "steps"')
    if fields.has("text"):
        pieces = cut(fields.text("text"))
    else:
        steps = fields.texts("steps")
        for number, step in enumerate(steps, start=1):
            if not step.strip():
                raise RefusedRow(f"step {number} of {at} is blank")
        pieces = listed(steps)
    return TraceRecord(
        cut=pieces,
        response_label=fields.identifier("response_label", max_length=MAX_RESPONSE_LABEL),
        generator=fields.identifier("generator", max_length=MAX_GENERATOR, default=""),
    )
