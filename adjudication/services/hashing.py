"""The content hash of a reference standard: the same labels give the same digest on any database."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass

SCHEME = "falsestep standard 1"


@dataclass(frozen=True, kw_only=True)
class StandardRow:
    """One trace's label as it enters the hash: natural keys and values, never a primary key or a time.

    `reference_answer_version` and `reference_answer_sha256` (hex, of the text in UTF-8) are null where the
    question has no reference answer, as in a text-free release.
    """

    question_id: str
    response_label: str
    trace_sha256: str
    status: str
    status_reason: str = ""
    final_correct: bool | None
    first_error_step: int | None
    first_error_step_min: int | None = None
    first_error_step_max: int | None = None
    provenance: str
    human_final_correct: bool | None = None
    human_first_error_step: int | None = None
    debate_final_correct: bool | None = None
    debate_first_error_step: int | None = None
    reference_answer_version: int | None = None
    reference_answer_sha256: str | None = None

    @property
    def key(self) -> tuple[str, str]:
        """(question external id, response label)."""
        return (self.question_id, self.response_label)


def text_sha256(text: str) -> str:
    """Return the sha256 (hex) of a text in UTF-8."""
    return hashlib.sha256(text.encode()).hexdigest()


def standard_sha256(rows: Iterable[StandardRow], guideline_version: int | None) -> str:
    """Return the sha256 (hex) of a standard's content, whatever the order of its rows.

    Raises ValueError when two rows are of the same trace.
    """
    ordered = sorted(rows, key=lambda row: row.key)
    for one, other in itertools.pairwise(ordered):
        if one.key == other.key:
            raise ValueError(f"two rows for {one.question_id}/{one.response_label}")
    digest = hashlib.sha256()
    digest.update(_line({"scheme": SCHEME, "guideline_version": guideline_version, "rows": len(ordered)}))
    for row in ordered:
        digest.update(_line(asdict(row)))
    return digest.hexdigest()


def _line(content: dict[str, object]) -> bytes:
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode() + b"\n"
