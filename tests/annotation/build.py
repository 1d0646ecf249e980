"""Builders for the tests of the annotators' desk."""

from __future__ import annotations

from typing import Any

from annotation.models import CheckItem, Study, Trace
from annotation.services import tally
from tests.build import make_question, make_trace


def make_traces(study: Study, count: int, *, n_steps: int = 3, **fields: Any) -> list[Trace]:
    """Make traces, three to a question."""
    traces: list[Trace] = []
    question = None
    for number in range(count):
        if number % 3 == 0:
            question = make_question(study)
        assert question is not None
        traces.append(make_trace(question, n_steps=n_steps, **fields))
    return traces


def make_check_item(study: Study, kind: str = "gate", *, step: int | None = 2, **fields: Any) -> CheckItem:
    """Make a check item with a trace of its own; it expects a wrong answer and a false step, or none."""
    trace = make_trace(make_question(study), n_steps=4)
    item = CheckItem.objects.create(
        **{
            "study": study,
            "trace": trace,
            "kind": kind,
            "final_correct": step is None,
            "first_error_step_min": step,
            "first_error_step_max": step,
            "explanation": "" if kind == "hidden" else "the sign is lost",
            "position": CheckItem.objects.count() + 1,
            **fields,
        }
    )
    tally.refresh(study)
    return item
