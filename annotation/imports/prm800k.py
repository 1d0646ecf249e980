"""PRM800K: solutions rated step by step by people; the first step rated -1 is the first false one."""

from __future__ import annotations

import hashlib
from typing import Any

from annotation.imports.fields import Fields, RefusedRow, check_step
from annotation.imports.reading import Row
from annotation.imports.records import MAX_LABELLER, LabelRecord, QuestionRecord, TraceRecord
from annotation.steps import listed

LABELLER = "prm800k"
UNMARKED = "wrong final answer, yet no mistake is marked"
UNFINISHED = "the labeller gave up, or called the problem bad"
FINISHED = ("solution", "found_error")
FINISH_REASONS = (*FINISHED, "give_up", "bad_problem")


def matches(fields: dict[str, Any]) -> bool:
    """Whether a row looks like this format."""
    question, label = fields.get("question"), fields.get("label")
    return (
        isinstance(question, dict) and "problem" in question and isinstance(label, dict) and "steps" in label
    )


def read(row: Row) -> QuestionRecord:
    """Read one rated solution.

    Rows for quality control repeat others and are passed over. A row that the labeller did not finish, or
    that does not say which answer the solution gave, brings its trace without a label.
    """
    fields = Fields(row.fields)
    question = Fields(fields.values.get("question"), at="question")
    label = Fields(fields.values.get("label"), at="label")
    statement = question.text("problem")
    answer = question.text("ground_truth_answer")
    identity = f"prm-{hashlib.sha256(statement.encode()).hexdigest()[:16]}"
    if fields.truth_or_none("is_quality_control_question"):
        return QuestionRecord(
            row.line, identity, statement, ((answer, ""),), passed_over="quality control question"
        )
    rated = [_rated_step(part, number) for number, part in enumerate(label.parts("steps"), start=1)]
    # Where the solution was generated as a whole, rating stops at its first error; the trace does not.
    steps = (
        question.texts("pre_generated_steps")
        if question.has("pre_generated_steps")
        else [text for text, _ in rated]
    )
    step = next((number for number, (_, rating) in enumerate(rated, start=1) if rating == -1), None)
    check_step("the first step rated -1", step, len(steps))
    finish = label.choice("finish_reason", FINISH_REASONS, default="solution")
    judged = finish in FINISHED and question.has("pre_generated_answer")
    record, review = None, ""
    if judged:
        correct = question.text("pre_generated_answer").strip() == answer.strip()
        review = UNMARKED if not correct and step is None else ""
        record = LabelRecord(
            fields.identifier("labeler", max_length=MAX_LABELLER, default="") or LABELLER,
            correct,
            step,
            comment=f"For review: {review}." if review else "",
        )
    elif finish not in FINISHED:
        review = UNFINISHED
    return QuestionRecord(
        line=row.line,
        external_id=identity,
        statement=statement,
        answers=((answer, ""),),
        subject="PRM800K",
        traces=(TraceRecord(cut=listed(steps), generator="unknown", label=record, review=review),),
    )


def _rated_step(part: Any, number: int) -> tuple[str, int | None]:
    """Return text and rating of what entered the solution: the chosen, else a human's, else the first."""
    at = f"label.steps[{number}]"
    fields = Fields(part, at=at)
    completions = fields.values.get("completions") or []
    if not isinstance(completions, list):
        raise RefusedRow(f'"{at}.completions" must be a list')
    if fields.has("chosen_completion"):
        place = fields.whole("chosen_completion", least=0)
        if place >= len(completions):
            raise RefusedRow(f'"{at}.chosen_completion" is {place}, but there are {len(completions)} of them')
        taken = completions[place]
    elif isinstance(fields.values.get("human_completion"), dict):
        taken = fields.values["human_completion"]
    elif completions:
        taken = completions[0]
    else:
        raise RefusedRow(f"{at} has no completion")
    completion = Fields(taken, at=f"{at}.completion")
    rating = completion.values.get("rating")
    if rating is not None and (isinstance(rating, bool) or rating not in (-1, 0, 1)):
        raise RefusedRow(f'"{at}.completion.rating" must be -1, 0 or 1')
    return completion.text("text"), rating
