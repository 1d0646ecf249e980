"""A builder of tiny releases: a standard, verdict files and the manifest that fits them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

CODES = {
    "c0": "C0",
    "c1u": "C1U",
    "c1": "C1",
    "c3": "C3",
    "c3n": "C3n",
    "c2": "C2",
    "cmatch": "CMATCH",
    "cconflict": "CCONFLICT",
}


def standard_row(
    question_id: str = "q1", letter: str = "A", *, step: int | None = None, **fields: Any
) -> dict[str, Any]:
    """A row of the standard: ready, of nine steps; right exactly when there is no error."""
    return {
        "question_id": question_id,
        "response_label": f"Response {letter}",
        "gt_status": "ready",
        "strict_error": int(step is not None),
        "final_is_correct": int(step is None),
        "final_error_step": step,
        "final_error_step_min": step,
        "final_error_step_max": step,
        "generator": "model-x",
        "gold_error_source": "silver_composite_inherited",
        "human_is_correct": None,
        "human_error_step": None,
        "debate_is_correct": int(step is None),
        "debate_error_step": step,
        "n_steps": 9,
        **fields,
    }


def verdict_row(
    code: str = "c0", question_id: str = "q1", letter: str = "A", *, step: int | None = None, **fields: Any
) -> dict[str, Any]:
    """A row of a verdict file: a flag exactly when a step is named."""
    return {
        "question_id": question_id,
        "response_label": f"Response {letter}",
        "monitor_model": "maker/reader-1",
        "api_model": "reader-1-0102",
        "condition": CODES[code],
        "parse_ok": True,
        "has_error": int(step is not None),
        "first_error_step": step,
        "error_confidence": 90,
        **fields,
    }


def failed_row(code: str = "c0", question_id: str = "q1", letter: str = "A") -> dict[str, Any]:
    """A row whose reply could not be parsed."""
    row = verdict_row(code, question_id, letter, parse_ok=False)
    return {
        name: row[name] for name in row if name not in ("has_error", "first_error_step", "error_confidence")
    }


def small_standard() -> list[dict[str, Any]]:
    """Two questions with a clean, a wrong and a critical trace each, and an excluded question."""
    rows = []
    for question_id in ("q1", "q2"):
        rows += [
            standard_row(question_id, "A"),
            standard_row(question_id, "B", step=4, human_is_correct=0, human_error_step=5),
            standard_row(question_id, "C", step=2, final_is_correct=1, final_error_step_max=3),
        ]
    excluded = standard_row("q3", gt_status="excluded", gold_error_source="question_level_exclusion")
    return [*rows, excluded]


def write_release(
    folder: Path,
    *,
    standard: list[dict[str, Any] | str] | None = None,
    verdicts: dict[str, list[dict[str, Any]]] | None = None,
    end: str = "\r\n",
) -> Path:
    """Write a release whose verdict files are named `verdicts`' keys (`c0__maker_reader-1`)."""
    folder.mkdir(exist_ok=True)
    files: dict[str, Any] = {"ground_truth_gold.jsonl": standard or small_standard()}
    for name, rows in (verdicts or {}).items():
        files[f"monitor_{name}.jsonl"] = rows
    for name, rows in files.items():
        lines = [row if isinstance(row, str) else json.dumps(row, separators=(",", ":")) for row in rows]
        (folder / name).write_bytes("".join(line + end for line in lines).encode())
    write_manifest(folder, *files)
    return folder


def write_manifest(folder: Path, *names: str) -> None:
    """Write the manifest that fits the files as they are."""
    entries = {}
    for name in names:
        content = (folder / name).read_bytes()
        entries[name] = {
            "rows": sum(1 for line in content.split(b"\n") if line.strip()),
            "sha256": hashlib.sha256(content).hexdigest(),
            "bytes": len(content),
        }
    manifest = {"format": "hle-physics-oversight-text-free-v1", "files": entries}
    (folder / "public_manifest.json").write_text(json.dumps(manifest, indent=1))
