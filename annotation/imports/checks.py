"""Importing check items: which traces are set apart for training, and what is expected of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models import Max

from annotation.access import study_named
from annotation.exports.columns import Kind
from annotation.imports.fields import ConflictingRow, Fields, RefusedRow, check_step
from annotation.imports.reading import Row, Source, read_each
from annotation.imports.records import MAX_QUESTION_ID, MAX_RESPONSE_LABEL
from annotation.imports.tables import rows_of
from annotation.models import CheckItem, GateAnswer, Label, Study, Trace
from annotation.services import tally
from core import audit
from core.errors import BadRow
from core.models import User

KINDS = {
    "question_id": Kind.TEXT,
    "response_label": Kind.TEXT,
    "kind": Kind.TEXT,
    "final_correct": Kind.TRUTH,
    "first_error_step": Kind.WHOLE,
    "first_error_step_min": Kind.WHOLE,
    "first_error_step_max": Kind.WHOLE,
    "explanation": Kind.TEXT,
}


@dataclass(frozen=True)
class CheckRow:
    """One line of a file of check items."""

    line: int
    question_id: str
    response_label: str
    kind: str
    final_correct: bool
    low: int | None
    high: int | None
    explanation: str


@dataclass
class ChecksReport:
    """What an import of check items did, or would do."""

    file: str
    study: str
    dry_run: bool
    sha256: str = ""
    rows: int = 0
    new: Counter[str] = field(default_factory=Counter)
    replaced: int = 0
    same: int = 0
    bad: list[BadRow] = field(default_factory=list)

    @property
    def conflicting(self) -> int:
        """Rows that contradict what is here."""
        return sum(row.conflict for row in self.bad)

    def as_json(self) -> dict[str, Any]:
        """Return the report as plain JSON."""
        return {
            "file": self.file,
            "sha256": self.sha256,
            "study": self.study,
            "dry_run": self.dry_run,
            "rows": self.rows,
            "new": dict(self.new),
            "replaced": self.replaced,
            "skipped": self.same,
            "conflicting": self.conflicting,
            "bad_rows": [
                {"line": row.line, "reason": row.reason, "conflict": row.conflict} for row in self.bad
            ],
        }


def import_checks(
    *,
    path: str | Path,
    study_slug: str,
    replace: bool = False,
    dry_run: bool = False,
    actor: User | None = None,
) -> ChecksReport:
    """Set traces apart as worked examples, gate items and hidden items: all of a file or nothing.

    Their order in the file is their order on the pages. An item that is here with other values is a bad row,
    or with `replace` takes the new ones, unless somebody has judged it already. A trace with labels cannot be
    set apart any more. Raises UserError for an unknown study or unreadable file, ImportRefused for bad rows.
    """
    study = study_named(study_slug)
    with Source(path) as source:
        return take_checks(source=source, study=study, replace=replace, dry_run=dry_run, actor=actor)


def take_checks(
    *, source: Source, study: Study, replace: bool = False, dry_run: bool = False, actor: User | None = None
) -> ChecksReport:
    """Do as `import_checks` says with a source that is open, which may be a text that somebody pasted."""
    with transaction.atomic():
        report = ChecksReport(source.name, study.slug, dry_run)
        last = CheckItem.objects.filter(study=study).values_list("kind").annotate(Max("position"))
        place: Counter[str] = Counter(dict(last.order_by()))
        seen: dict[tuple[str, str], int] = {}
        for row in read_each(source, read, rows=rows_of(source, KINDS)):
            report.rows += 1
            try:
                earlier = seen.setdefault((row.question_id, row.response_label), row.line)
                if earlier != row.line:
                    raise RefusedRow(f"the trace stands on line {earlier} already")
                _take(study, row, place, replace, report)
            except RefusedRow as refusal:
                source.refuse(row.line, refusal)
        report.sha256 = source.sha256
        report.bad = sorted(source.bad, key=lambda bad: bad.line)
        if dry_run:
            transaction.set_rollback(True)
            return report
        source.raise_if_bad()
        source.raise_if_empty(report.rows)
        if report.new or report.replaced:
            tally.refresh(study)
            audit.record(
                scope=study.slug,
                actor=actor,
                action="check items imported",
                subject=Path(source.name).name[:200],
                payload=report.as_json(),
            )
    return report


def read(row: Row) -> CheckRow:
    """Read one check item; RefusedRow says what is wrong."""
    fields = Fields(row.fields, known=frozenset(KINDS))
    step = fields.step("first_error_step")
    low, high = fields.step("first_error_step_min"), fields.step("first_error_step_max")
    if (low is None) != (high is None) or (low is not None and high is not None and low > high):
        raise RefusedRow('"first_error_step_min" and "first_error_step_max" come together, in order')
    if step is not None and low is not None and high is not None and not low <= step <= high:
        raise RefusedRow(f"the range {low} to {high} does not hold the first error step, which is {step}")
    if step is None and low is None and "first_error_step" not in fields.values:
        raise RefusedRow('"first_error_step" is missing; no error is null')
    if "kind" not in fields.values:
        raise RefusedRow('"kind" is missing: worked, gate or hidden')
    kind = fields.choice("kind", tuple(CheckItem.Kind.values), default="")
    explanation = fields.text("explanation", default="").strip()
    if kind != CheckItem.Kind.HIDDEN and not explanation:
        raise RefusedRow(f'"explanation" is missing: people see it with a {kind} item')
    return CheckRow(
        line=row.line,
        question_id=fields.identifier("question_id", max_length=MAX_QUESTION_ID),
        response_label=fields.identifier("response_label", max_length=MAX_RESPONSE_LABEL),
        kind=kind,
        final_correct=fields.truth("final_correct"),
        low=low if low is not None else step,
        high=high if high is not None else step,
        explanation=explanation,
    )


def _take(study: Study, row: CheckRow, place: Counter[str], replace: bool, report: ChecksReport) -> None:
    name = f"{row.question_id}/{row.response_label}"
    trace = (
        Trace.objects.filter(
            study=study, question__external_id=row.question_id, response_label=row.response_label
        )
        .defer("steps", "preamble")
        .first()
    )
    if trace is None:
        raise RefusedRow(f'no trace "{name}" in study "{study.slug}"')
    if trace.cut == Trace.Cut.TEXT_FREE:
        raise RefusedRow(f'trace "{name}" is here without its text, from a release')
    field_given = "first_error_step" if row.low == row.high else "first_error_step_max"
    check_step(f'"{field_given}"', row.high, trace.n_steps)
    values = {
        "kind": row.kind,
        "final_correct": row.final_correct,
        "first_error_step_min": row.low,
        "first_error_step_max": row.high,
        "explanation": row.explanation,
    }
    held = CheckItem.objects.filter(trace=trace).first()
    if held is not None and all(getattr(held, field) == value for field, value in values.items()):
        report.same += 1
        return
    judged = GateAnswer.objects.filter(item=held).exists() if held else False
    if judged or Label.objects.filter(trace=trace).exists():
        what = "is judged already" if held else "has labels already, which count in the study"
        raise ConflictingRow(f'trace "{name}" {what}: it cannot be set apart otherwise any more')
    if held is not None:
        if not replace:
            raise ConflictingRow(
                f'trace "{name}" is set apart already with other values; to take these, replace them (--replace)'
            )
        CheckItem.objects.filter(pk=held.pk).update(**values)
        report.replaced += 1
        return
    place[row.kind] += 1
    CheckItem.objects.create(study=study, trace=trace, position=place[row.kind], **values)
    report.new[row.kind] += 1
