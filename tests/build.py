"""Builders of rows for tests: short calls with sensible defaults, no fixture files."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable
from typing import Any

from annotation.models import Label, Membership, Question, ReferenceAnswer, Role, Study, Trace
from annotation.services import tally
from core.models import User

_count = itertools.count(1)


def make_study(**fields: Any) -> Study:
    number = next(_count)
    return Study.objects.create(**{"slug": f"study-{number}", "name": f"Study {number}", **fields})


def make_person(
    username: str | None = None, *, study: Study | None = None, roles: Iterable[Role] = (), **fields: Any
) -> User:
    """Make a person (password `correct-horse`), with roles in a study."""
    name = username or f"person{next(_count)}"
    person = User.objects.create_user(
        username=name, password="correct-horse", **{"display_name": name.title(), **fields}
    )
    for role in roles:
        assert study is not None
        Membership.objects.create(study=study, person=person, role=role)
    return person


def make_question(study: Study, *, answer: str = "42", **fields: Any) -> Question:
    number = next(_count)
    question = Question.objects.create(
        **{
            "study": study,
            "external_id": f"q{number}",
            "statement": f"What is $x_{{{number}}}$?",
            "subject": "mechanics",
            **fields,
        }
    )
    ReferenceAnswer.objects.create(question=question, version=1, text=answer)
    return question


def make_trace(
    question: Question, *, n_steps: int = 5, steps: list[str] | None = None, **fields: Any
) -> Trace:
    """Make a trace of n_steps numbered steps, or of the given ones."""
    number = next(_count)
    texts = steps or [f"({k}) Step {k} of ${k} = {k}$.\n" for k in range(1, n_steps + 1)]
    trace = Trace.objects.create(
        **{
            "study": question.study,
            "question": question,
            "response_label": f"Response {number}",
            "generator": "generator-x",
            "cut": Trace.Cut.NUMBERED,
            "steps": texts,
            "n_steps": len(texts),
            "sha256": hashlib.sha256("".join(texts).encode()).hexdigest(),
            **fields,
        }
    )
    tally.trace_added(trace)
    return trace


def make_label(
    trace: Trace,
    *,
    arm: str = Label.Arm.HUMAN,
    labeller: str = "ana",
    final_correct: bool = True,
    first_error_step: int | None = None,
    **fields: Any,
) -> Label:
    label = Label.objects.create(
        **{
            "trace": trace,
            "arm": arm,
            "labeller": labeller,
            "final_correct": final_correct,
            "first_error_step": first_error_step,
            "source": "test",
            **fields,
        }
    )
    if label.arm == Label.Arm.HUMAN and label.revision == 1:
        tally.label_added(trace=trace, labeller=label.labeller)
    return label
