"""Builders of the files that imports read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TEXT = "(1) Let $x = 1$.\n(2) Then $x + 1 = 2$.\n(3) So \\boxed{2}."


def question_row(question_id: str = "q1", *, n_traces: int = 1, **fields: Any) -> dict[str, Any]:
    """A row of our own format: a question with traces of three steps."""
    traces = [
        {"response_label": f"Response {chr(65 + number)}", "generator": "model-x", "text": TEXT}
        for number in range(n_traces)
    ]
    return {
        "question_id": question_id,
        "statement": "What is $1 + 1$?",
        "reference_answer": "2",
        "traces": traces,
        **fields,
    }


def label_row(question_id: str = "q1", **fields: Any) -> dict[str, Any]:
    """A row of a label file: right, no error, by ana."""
    return {
        "question_id": question_id,
        "response_label": "Response A",
        "labeller": "ana",
        "final_correct": True,
        "first_error_step": None,
        **fields,
    }


def mistake_row(**fields: Any) -> dict[str, Any]:
    """A row of BIG-Bench Mistake: the second of three steps is false."""
    return {
        "input": "1 + 1 =",
        "steps": ["One and one.", "1 + 1 = 3.", "So the answer is 3"],
        "target": "2",
        "answer": "3",
        "mistake_index": 1,
        **fields,
    }


def write_lines(path: Path, *rows: dict[str, Any] | str) -> Path:
    """Write rows as JSON Lines; a text is written as it is."""
    lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path
