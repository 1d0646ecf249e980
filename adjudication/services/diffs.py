"""What two standards of a study say differently, label by label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adjudication.judgements import Judgement
from adjudication.models import ReferenceStandard
from adjudication.services.hashing import StandardRow
from adjudication.services.standards import drafts_of


@dataclass(frozen=True)
class Difference:
    """One field of one trace's label in two versions; null also stands for a trace that is not there."""

    question_id: str
    response_label: str
    field: str
    before: Any
    after: Any
    trace_id: int

    def __str__(self) -> str:
        return (
            f"{self.question_id}/{self.response_label} {self.field}: "
            f"{in_words(self.before)} -> {in_words(self.after)}"
        )

    def as_json(self) -> dict[str, Any]:
        """Return the entry of `diff_standards --json`."""
        return {
            "question_id": self.question_id,
            "response_label": self.response_label,
            "field": self.field,
            "from": self.before,
            "to": self.after,
        }


def in_words(value: Any) -> str:
    """Return a value of a label as it is shown: none, true, false, a number or a text."""
    if value is None:
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(value)


def diff_standards(old: ReferenceStandard, new: ReferenceStandard) -> list[Difference]:
    """Return the differences in what is scored, by trace and field.

    A range of one step is no range, so that moving the step of a label is one difference. Provenance and the
    arms' columns are not compared: they tell where a label came from, not what it says.
    """
    before = {draft.row.key: draft for draft in drafts_of(old)}
    after = {draft.row.key: draft for draft in drafts_of(new)}
    differences = []
    for key in sorted(before.keys() | after.keys()):
        one, other = before.get(key), after.get(key)
        there = one or other
        assert there is not None
        left, right = _scored(one.row if one else None), _scored(other.row if other else None)
        differences += [
            Difference(key[0], key[1], name, left[name], right[name], there.trace_id)
            for name in left
            if left[name] != right[name]
        ]
    return differences


def _scored(row: StandardRow | None) -> dict[str, Any]:
    if row is None:
        return dict.fromkeys(
            (
                "status",
                "status_reason",
                "final_correct",
                "first_error_step",
                "first_error_step_min",
                "first_error_step_max",
                "reference_answer_version",
            )
        )
    judgement = Judgement.of(
        row.final_correct, row.first_error_step, row.first_error_step_min, row.first_error_step_max
    )
    low, high = (judgement.range if judgement else None) or (None, None)
    return {
        "status": row.status,
        "status_reason": row.status_reason or None,
        "final_correct": row.final_correct,
        "first_error_step": row.first_error_step,
        "first_error_step_min": low,
        "first_error_step_max": high,
        "reference_answer_version": row.reference_answer_version,
    }
