"""Read the published text-free files into a panel, plainly: the tests' own loader, not the product's."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from stats.panel import Panel, Reference, TraceRow, Verdicts

CODES = {
    "c0": "BLIND",
    "c1u": "HINT",
    "c1": "CERT",
    "c3": "REVISE",
    "c3n": "RCTRL",
    "c2": "STEP",
    "cmatch": "CMATCH",
    "cconflict": "CCONFLICT",
}


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def truth(value: int | None) -> bool | None:
    return None if value is None else bool(value)


def load_reference(folder: Path, patches: dict[tuple[str, str], int | None] | None = None) -> Reference:
    """The ready rows; `patches` puts other steps in, by (question, label)."""
    found = []
    for row in rows(folder / "ground_truth_gold.jsonl"):
        if row["gt_status"] != "ready":
            continue
        step = row["final_error_step"]
        key = (row["question_id"], row["response_label"])
        patched = (patches or {}).get(key, step)
        found.append(
            TraceRow(
                question=key[0],
                label=key[1],
                final_correct=row["final_is_correct"] == 1,
                step=patched,
                step_min=row["final_error_step_min"] if patched == step else patched,
                step_max=row["final_error_step_max"] if patched == step else patched,
                n_steps=row["n_steps"],
                generator=row["generator"],
                human_final_correct=truth(row["human_is_correct"]),
                human_step=row["human_error_step"],
                debate_final_correct=truth(row["debate_is_correct"]),
                debate_step=row["debate_error_step"],
            )
        )
    return Reference.from_rows(found)


def last_parsed(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """The last parsed row of each trace; a failed one where none parsed."""
    kept: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows(path):
        key = (row["question_id"], row["response_label"])
        if row["parse_ok"] or not kept.get(key, {}).get("parse_ok"):
            kept[key] = row
    return kept


def with_roles(panel: Panel, coded: Mapping[str, Sequence[tuple[str, str]]]) -> Panel:
    """The panel with critical traces coded by role: {role: [(question, letter)]}."""
    role = {
        (question, f"Response {letter}"): name
        for name, traces in coded.items()
        for question, letter in traces
    }
    roles = tuple(role.get(key, "") for key in panel.reference.keys)
    return replace(panel, reference=replace(panel.reference, roles=roles))


def load_panel(folder: Path, patches: dict[tuple[str, str], int | None] | None = None) -> Panel:
    reference = load_reference(folder, patches)
    place = {key: position for position, key in enumerate(reference.keys)}
    verdicts = {}
    for code, condition in CODES.items():
        files = sorted(folder.glob(f"monitor_{code}__*.jsonl"))
        columns: list[tuple[int, int, int, int, float, bool]] = []
        for number, path in enumerate(files):
            for key, row in last_parsed(path).items():
                if key not in place:
                    continue
                said = row["has_error"] if row["parse_ok"] and row["has_error"] in (0, 1) else -1
                confidence = row.get("error_confidence")
                columns.append(
                    (
                        number,
                        place[key],
                        said,
                        (row.get("first_error_step") or 0) if said >= 0 else 0,
                        np.nan if confidence is None else confidence,
                        row.get("prior_has_error") == 1,
                    )
                )
        if not columns:
            continue
        monitor, trace, has_error, step, confidences, prior = (
            np.array(c) for c in zip(*columns, strict=True)
        )
        verdicts[condition] = Verdicts.from_columns(
            [path.stem.split("__", 1)[1] for path in files],
            reference.n_traces,
            monitor=monitor,
            trace=trace,
            has_error=has_error,
            step=step,
            confidence=confidences,
            prior_flag=prior,
        )
    return Panel(reference, verdicts)
