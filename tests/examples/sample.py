"""Reads the sample study with code of its own, apart from that of the importer."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "sample"

Key = tuple[str, str]
"""A trace: question id and the letter of its response."""


def read_lines(name: str) -> list[dict[str, Any]]:
    """Return the objects of one JSON Lines file of the sample."""
    with (FOLDER / name).open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def cut_into_steps(text: str) -> list[str]:
    """Cut a trace at "(1)", "(2)", ..., taking each number only when it is the next one expected."""
    starts: list[int] = []
    for marker in re.finditer(r"\((\d+)\)", text):
        if int(marker[1]) == len(starts) + 1:
            starts.append(marker.start())
    if len(starts) < 2:
        return [text]
    return [text[a:b] for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]


def traces() -> dict[Key, list[str]]:
    """Return the steps of every trace of the sample."""
    return {
        (row["question_id"], trace["response_label"][-1]): cut_into_steps(trace["text"])
        for row in read_lines("questions.jsonl")
        for trace in row["traces"]
    }


def standard() -> dict[Key, tuple[bool, int | None]]:
    """Return (final answer right, first false step) of every trace, from decisions and agreeing labels.

    Raises ValueError when labels differ and nobody decided.
    """
    proposals: dict[Key, set[tuple[bool, int | None]]] = {}
    for name in ("labels_human.jsonl", "labels_debate.jsonl"):
        for row in read_lines(name):
            key = (row["question_id"], row["response_label"][-1])
            proposals.setdefault(key, set()).add((bool(row["final_correct"]), row["first_error_step"]))
    result = {key: next(iter(values)) for key, values in proposals.items() if len(values) == 1}
    for row in read_lines("decisions.jsonl"):
        key = (row["question_id"], row["response_label"][-1])
        result[key] = (bool(row["final_correct"]), row["first_error_step"])
    undecided = proposals.keys() - result.keys()
    if undecided:
        raise ValueError(f"labels differ and nobody decided: {sorted(undecided)}")
    return result


def cell(verdict: tuple[bool, int | None]) -> str:
    """Return clean, wrong or critical."""
    right, step = verdict
    if not right:
        return "wrong"
    return "clean" if step is None else "critical"
