"""The columns of exported labels: their order in files, and what each holds."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """What a column holds; null stands for what is not there."""

    TEXT = "text"
    WHOLE = "whole number"
    TRUTH = "true or false"
    INSTANT = "time in UTC"


@dataclass(frozen=True)
class Column:
    """One column."""

    name: str
    kind: Kind


LABEL_COLUMNS: tuple[Column, ...] = (
    Column("question_id", Kind.TEXT),
    Column("response_label", Kind.TEXT),
    Column("trace_sha256", Kind.TEXT),
    Column("arm", Kind.TEXT),
    Column("labeller", Kind.TEXT),
    Column("revision", Kind.WHOLE),
    Column("current", Kind.TRUTH),
    Column("final_correct", Kind.TRUTH),
    Column("first_error_step", Kind.WHOLE),
    Column("first_error_step_min", Kind.WHOLE),
    Column("first_error_step_max", Kind.WHOLE),
    Column("comment", Kind.TEXT),
    Column("coherence", Kind.TEXT),
    Column("error_type", Kind.TEXT),
    Column("key_wrong", Kind.TEXT),
    Column("key_wrong_version", Kind.WHOLE),
    Column("guideline_version", Kind.WHOLE),
    Column("guideline_sha256", Kind.TEXT),
    Column("active_seconds", Kind.WHOLE),
    Column("source", Kind.TEXT),
    Column("created_at", Kind.INSTANT),
)
KINDS: dict[str, Kind] = {column.name: column.kind for column in LABEL_COLUMNS}
