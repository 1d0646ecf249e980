"""Builders for verification: specifications, execution records, files of evidence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.db import transaction

from annotation.models import Question, Trace
from verification.models import ExpertItem, TaskSpecification
from verification.services.evidence import put_execution
from verification.services.experts import send_to_experts
from verification.services.specifications import put_specification

OBLIGATIONS = [
    {"id": "forces", "text": "The forces are listed", "needs": []},
    {"id": "balance", "text": "They balance", "needs": ["forces"]},
    {"id": "answer", "text": "The answer follows", "needs": ["balance"]},
]
NUMBER = {"name": "final answer", "kind": "final_answer", "spec": {"kind": "number", "relative": "0.01"}}


def specify(question: Question, **data: Any) -> TaskSpecification:
    with transaction.atomic():
        made = put_specification(question=question, data=data, author=None, source="test")
    assert made is not None
    return made


def record_execution(trace: Trace, **data: Any) -> None:
    with transaction.atomic():
        put_execution(trace=trace, data=data, source="test")


def make_item(trace: Trace, reason: str = "The limit may not commute with the integral.") -> ExpertItem:
    return send_to_experts(trace=trace, reason=reason, actor=None)


def write_lines(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path
