"""The hash of a standard speaks of its content alone."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

import pytest

from adjudication.services.hashing import StandardRow, standard_sha256, text_sha256


def _row(**fields: Any) -> StandardRow:
    return StandardRow(
        **{
            "question_id": "q1",
            "response_label": "Response A",
            "trace_sha256": "0" * 64,
            "status": "ready",
            "final_correct": True,
            "first_error_step": 2,
            "provenance": "both_arms_agree",
            **fields,
        }
    )


OTHER: dict[str, Any] = {
    "question_id": "q2",
    "response_label": "Response B",
    "trace_sha256": "1" * 64,
    "status": "unresolved",
    "status_reason": "no label",
    "final_correct": False,
    "first_error_step": None,
    "first_error_step_min": 1,
    "first_error_step_max": 3,
    "provenance": "adjudicated",
    "human_final_correct": True,
    "human_first_error_step": 2,
    "debate_final_correct": False,
    "debate_first_error_step": 4,
    "reference_answer_version": 1,
    "reference_answer_sha256": text_sha256("42"),
}


def test_the_order_of_rows_does_not_matter() -> None:
    rows = [_row(question_id=f"q{n}", response_label=label) for n in range(20) for label in "ABC"]
    shuffled = rows[:]
    random.Random(1).shuffle(shuffled)
    assert standard_sha256(rows, 1) == standard_sha256(shuffled, 1)


@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(StandardRow)])
def test_every_field_changes_the_hash(field: str) -> None:
    changed = dataclasses.replace(_row(), **{field: OTHER[field]})
    assert standard_sha256([_row()], 1) != standard_sha256([changed], 1)


def test_the_guideline_changes_the_hash() -> None:
    assert len({standard_sha256([_row()], version) for version in (None, 1, 2)}) == 3


def test_it_refuses_two_rows_of_one_trace() -> None:
    with pytest.raises(ValueError, match="q1/Response A"):
        standard_sha256([_row(), _row(final_correct=False)], None)


def test_the_scheme_has_not_moved() -> None:
    """Golden: computed by this scheme on the day it was fixed; a change of it needs a new SCHEME."""
    assert standard_sha256([], None) == text_sha256(
        '{"guideline_version":null,"rows":0,"scheme":"falsestep standard 1"}\n'
    )
