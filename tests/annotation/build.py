"""Builders for the tests of the annotators' desk."""

from __future__ import annotations

from typing import Any

from annotation.models import Study, Trace
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
