"""Humanity's Last Exam (Parquet): questions without traces, chosen by a funnel whose every stage is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from annotation.exports.columns import Kind
from annotation.imports.fields import Fields, RefusedRow
from annotation.imports.reading import Row, Source, read_each
from annotation.imports.records import MAX_QUESTION_ID, MAX_REASON, MAX_SUBJECT, QuestionRecord
from annotation.imports.tables import parquet_rows, rows_of
from core.errors import UserError

REQUIRED = frozenset({"id", "question", "answer", "answer_type"})
WANTED = REQUIRED | {"rationale", "raw_subject", "category"}
EXACT = "exactMatch"
BATCH = 64  # rows hold whole images
DROP, EXCLUDE = "drop", "exclude"


@dataclass(frozen=True)
class Reviewed:
    """What people said of one question: left out (`drop`), or taken and excluded, and why."""

    line: int
    action: str
    reason: str


@dataclass
class Funnel:
    """The stages by which questions were chosen; counts of questions."""

    rows: int = 0
    physics: int = 0
    text_only: int = 0
    exact_match: int = 0
    multi_step: int = 0
    included: int = 0
    dropped: dict[str, str] = field(default_factory=dict)
    excluded: dict[str, str] = field(default_factory=dict)
    reviewed: bool = False

    def stages(self) -> list[tuple[str, int]]:
        """Return each stage with the number of questions left after it."""
        review = "multi-step by review" if self.reviewed else "multi-step: no review file was given"
        return [
            ("rows of the file", self.rows),
            ("subject is physics", self.physics),
            ("text only", self.text_only),
            ("exact match", self.exact_match),
            (review, self.multi_step),
            ("included", self.included),
        ]

    def as_json(self) -> dict[str, Any]:
        """Return the funnel as plain JSON, with the reasons of review and exclusion by question."""
        return {
            "stages": [{"stage": stage, "questions": number} for stage, number in self.stages()],
            "dropped_by_review": dict(self.dropped),
            "excluded": dict(self.excluded),
            "reasons": dict(Counter([*self.dropped.values(), *self.excluded.values()])),
        }


def read_review(path: str) -> dict[str, Reviewed]:
    """Read the review: rows of question_id, reason and action (`drop`, the default, or `exclude`).

    CSV, JSON Lines or Parquet. Raises UserError or ImportRefused for a file that says nothing or two things.
    """
    kinds = dict.fromkeys(("question_id", "reason", "action"), Kind.TEXT)
    found: dict[str, Reviewed] = {}

    def read(row: Row) -> None:
        fields = Fields(row.fields, known=frozenset(kinds))
        identity = fields.identifier("question_id", max_length=MAX_QUESTION_ID)
        if identity in found:
            raise RefusedRow(f'"{identity}" stands on line {found[identity].line} already')
        found[identity] = Reviewed(
            row.line,
            fields.choice("action", (DROP, EXCLUDE), default=DROP),
            fields.text("reason", max_length=MAX_REASON).strip(),
        )

    with Source(path) as source:
        for _ in read_each(source, read, rows=rows_of(source, kinds)):
            pass
        source.raise_if_bad()
        source.raise_if_empty(len(found))
    return found


def records(source: Source, funnel: Funnel, review: Mapping[str, Reviewed]) -> Iterator[QuestionRecord]:
    """Yield the questions that pass the funnel; bad rows among them go to the source.

    Physics is what has the word in `raw_subject`, or in `category` where that is blank. Text only is what has
    nothing in any column with `image` in its name. Raises UserError for a file that is not HLE, and for a
    review of questions that the file does not hold.
    """
    funnel.reviewed = bool(review)
    unmet = set(review)

    def choose(names: list[str]) -> list[str]:
        missing = sorted(REQUIRED - set(names))
        if missing or not {"raw_subject", "category"} & set(names):
            raise UserError(
                f"{source.name} is not HLE: it has no column "
                + ", ".join(missing or ["raw_subject or category"])
            )
        return [name for name in names if name in WANTED or "image" in name.lower()]

    for row in parquet_rows(source, columns=choose, batch=BATCH):
        funnel.rows += 1
        unmet.discard(str(row.fields.get("id")))
        try:
            record = _chosen(row, funnel, review)
        except RefusedRow as refusal:
            source.refuse(row.line, refusal)
        else:
            if record is not None:
                yield record
    if unmet:
        names = ", ".join(sorted(unmet)[:10])
        raise UserError(f"the review names {len(unmet)} questions that {source.name} does not hold: {names}")


def _chosen(row: Row, funnel: Funnel, review: Mapping[str, Reviewed]) -> QuestionRecord | None:
    fields = Fields(row.fields)
    subject = fields.text("raw_subject", default="").strip() or fields.text("category", default="").strip()
    if "physics" not in subject.lower():
        return None
    funnel.physics += 1
    if any(_holds(value) for name, value in row.fields.items() if "image" in name.lower()):
        return None
    funnel.text_only += 1
    if fields.text("answer_type") != EXACT:
        return None
    funnel.exact_match += 1
    identity = fields.identifier("id", max_length=MAX_QUESTION_ID)
    reviewed = review.get(identity)
    if reviewed is not None and reviewed.action == DROP:
        funnel.dropped[identity] = reviewed.reason
        return None
    funnel.multi_step += 1
    if reviewed is not None:
        funnel.excluded[identity] = reviewed.reason
    else:
        funnel.included += 1
    return QuestionRecord(
        line=row.line,
        external_id=identity,
        statement=fields.text("question"),
        answers=((fields.text("answer"), ""),),
        rationale=fields.text("rationale", default=""),
        subject=subject[:MAX_SUBJECT],
        status="excluded" if reviewed else "included",
        exclusion_reason=reviewed.reason if reviewed else "",
    )


def _holds(value: Any) -> bool:
    """Whether an image column holds an image: text, bytes, or a structure with something in it."""
    if isinstance(value, dict):
        return any(_holds(part) for part in value.values())
    return bool(value)
