"""Importing labels of either arm: one a line, for traces that are here already (docs/formats.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models import Max

from annotation import hooks
from annotation.access import study_named
from annotation.imports.fields import Fields, RefusedRow, check_step
from annotation.imports.reading import Row, Source, read_each
from annotation.imports.records import MAX_LABELLER, MAX_QUESTION_ID, MAX_RESPONSE_LABEL, LabelRecord
from annotation.models import KeyReport, Label, Membership, ReferenceAnswer, Study, Trace
from core import audit
from core.errors import BadRow, UserError
from core.models import User

CHUNK = 500
DEBATE = "debate"
FIELDS = frozenset(
    {
        "question_id",
        "response_label",
        "labeller",
        "final_correct",
        "first_error_step",
        "first_error_step_min",
        "first_error_step_max",
        "comment",
        "key_wrong",
    }
)


@dataclass(frozen=True)
class LabelRow:
    """One line of a label file."""

    line: int
    question_id: str
    response_label: str
    label: LabelRecord
    key_wrong: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """The trace's natural key."""
        return (self.question_id, self.response_label)

    @property
    def name(self) -> str:
        """The trace as people write it."""
        return f"{self.question_id}/{self.response_label}"


@dataclass
class LabelsReport:
    """What an import of labels did, or would do."""

    file: str
    study: str
    arm: str
    dry_run: bool
    sha256: str = ""
    rows: int = 0
    new: int = 0
    revised: int = 0
    same: int = 0
    key_reports: int = 0
    keys_in_comments: int = 0
    labellers: Counter[str] = field(default_factory=Counter)
    strangers: set[str] = field(default_factory=set)
    bad: list[BadRow] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return the report as plain JSON."""
        return {
            "file": self.file,
            "sha256": self.sha256,
            "study": self.study,
            "arm": self.arm,
            "dry_run": self.dry_run,
            "rows": self.rows,
            "new": self.new,
            "revised": self.revised,
            "unchanged": self.same,
            "key_reports": self.key_reports,
            "key_reports_kept_in_comments": self.keys_in_comments,
            "labellers": dict(sorted(self.labellers.items())),
            "labellers_without_an_account": sorted(self.strangers),
            "bad_rows": [{"line": row.line, "reason": row.reason} for row in self.bad],
        }


def import_labels(
    *,
    path: str | Path,
    study_slug: str,
    arm: str,
    revise: bool = False,
    dry_run: bool = False,
    actor: User | None = None,
) -> LabelsReport:
    """Import a file of labels of one arm, all of it or nothing.

    A labeller who is a member of the study by that user name becomes the label's person. A label that differs
    from the labeller's current one is a bad row, or with `revise` a new revision that supersedes it.
    Raises UserError for an unknown study or an unreadable file, ImportRefused for bad rows; a dry run writes
    nothing and lists bad rows in the report instead.
    """
    if arm not in Label.Arm.values:
        raise UserError(f'no arm is called "{arm}"; there are: {", ".join(Label.Arm.values)}')
    study = study_named(study_slug)
    with Source(path) as source, transaction.atomic():
        report = LabelsReport(source.name, study.slug, arm, dry_run)
        writer = _Writer(study, arm, revise, report, source)
        chunk: list[LabelRow] = []
        for row in read_each(source, lambda row: read(row, arm=arm)):
            report.rows += 1
            chunk.append(row)
            if len(chunk) == CHUNK:
                writer.take(chunk)
                chunk = []
        writer.take(chunk)
        writer.report_keys()
        report.sha256 = source.sha256
        report.bad = sorted(source.bad, key=lambda row: row.line)
        if dry_run:
            transaction.set_rollback(True)
            return report
        source.raise_if_bad()
        source.raise_if_empty(report.rows)
        if report.new or report.revised:
            hooks.labels_changed(study=study, actor=actor)
        if report.new or report.revised or report.key_reports:
            audit.record(
                scope=study.slug,
                actor=actor,
                action="labels imported",
                subject=Path(source.name).name[:200],
                payload=report.as_json(),
            )
    return report


def read(row: Row, *, arm: str) -> LabelRow:
    """Read one label; RefusedRow says what is wrong. In the debate arm the labeller may be left out."""
    fields = Fields(row.fields, known=FIELDS)
    step = fields.step("first_error_step")
    least, most = fields.step("first_error_step_min"), fields.step("first_error_step_max")
    if (least is None) != (most is None):
        raise RefusedRow('"first_error_step_min" and "first_error_step_max" come together')
    if least is not None and most is not None and (step is None or not least <= step <= most):
        raise RefusedRow(f"the range {least} to {most} does not hold the first error step, which is {step}")
    if "first_error_step" not in fields.values:
        raise RefusedRow('"first_error_step" is missing; no error is null')
    labeller = fields.identifier(
        "labeller", max_length=MAX_LABELLER, default=DEBATE if arm == Label.Arm.DEBATE else None
    )
    return LabelRow(
        line=row.line,
        question_id=fields.identifier("question_id", max_length=MAX_QUESTION_ID),
        response_label=fields.identifier("response_label", max_length=MAX_RESPONSE_LABEL),
        label=LabelRecord(
            labeller=labeller or DEBATE,
            final_correct=fields.truth("final_correct"),
            first_error_step=step,
            first_error_step_min=least,
            first_error_step_max=most,
            comment=fields.text("comment", default=""),
        ),
        key_wrong=fields.text("key_wrong", default="").strip(),
    )


class _Writer:
    """Takes label rows in chunks and writes what is new."""

    def __init__(self, study: Study, arm: str, revise: bool, report: LabelsReport, source: Source) -> None:
        self.study, self.arm, self.revise = study, arm, revise
        self.report, self.source = report, source
        self.source_name = Path(source.name).name[:180]
        self.seen: dict[tuple[str, str, str], tuple[int, LabelRecord]] = {}
        self.keys: dict[tuple[int, int], list[str]] = {}
        members = Membership.objects.filter(study=study).select_related("person")
        self.people = {} if arm == Label.Arm.DEBATE else {m.person.username: m.person for m in members}

    def take(self, rows: list[LabelRow]) -> None:
        """Write one chunk."""
        traces = self._traces({row.question_id for row in rows})
        current = self._current(trace.pk for trace in traces.values())
        new: list[Label] = []
        for row in rows:
            try:
                label = self._label(row, traces.get(row.key), current)
            except RefusedRow as refusal:
                self.source.refuse(row.line, str(refusal))
            else:
                if label is not None:
                    new.append(label)
        Label.objects.bulk_create(new, batch_size=CHUNK)

    def report_keys(self) -> None:
        """Turn what people said about keys into key reports, one per person and version of the key."""
        questions = {question for question, _ in self.keys}
        versions = dict(
            ReferenceAnswer.objects.filter(question__in=questions)
            .values("question_id")
            .annotate(latest=Max("version"))
            .values_list("question_id", "latest")
        )
        held = set(
            KeyReport.objects.filter(question__in=questions).values_list(
                "question_id", "reporter_id", "reference_version"
            )
        )
        reports = [
            KeyReport(
                question_id=question,
                reporter_id=person,
                reference_version=versions.get(question, 1),
                reason="\n".join(reasons),
            )
            for (question, person), reasons in self.keys.items()
            if (question, person, versions.get(question, 1)) not in held
        ]
        KeyReport.objects.bulk_create(reports, batch_size=CHUNK)
        self.report.key_reports = len(reports)

    def _traces(self, question_ids: Iterable[str]) -> dict[tuple[str, str], Trace]:
        traces = (
            Trace.objects.filter(study=self.study, question__external_id__in=question_ids)
            .select_related("question")
            .only("response_label", "n_steps", "question__external_id")
        )
        return {(trace.question.external_id, trace.response_label): trace for trace in traces}

    def _current(self, traces: Iterable[int]) -> dict[tuple[int, str], Label]:
        labels = Label.objects.filter(trace__in=list(traces), arm=self.arm, superseded_by__isnull=True)
        return {(label.trace_id, label.labeller): label for label in labels}

    def _label(
        self, row: LabelRow, trace: Trace | None, current: dict[tuple[int, str], Label]
    ) -> Label | None:
        """Return the label to write, None if it is here already; RefusedRow if it cannot be."""
        if trace is None:
            raise RefusedRow(f'no trace "{row.name}" in study "{self.study.slug}"')
        check_step('"first_error_step"', row.label.first_error_step, trace.n_steps)
        check_step('"first_error_step_max"', row.label.first_error_step_max, trace.n_steps)
        given = row.label
        person = self.people.get(given.labeller)
        comment = given.comment
        if row.key_wrong:
            if person is None:
                comment = f"{comment}\nKey looks wrong: {row.key_wrong}".strip()
                self.report.keys_in_comments += 1
            else:
                reasons = self.keys.setdefault((trace.question_id, person.pk), [])
                if row.key_wrong not in reasons:
                    reasons.append(row.key_wrong)
        self.report.labellers[given.labeller] += 1
        if person is None and self.arm == Label.Arm.HUMAN:
            self.report.strangers.add(given.labeller)
        earlier_line = self._meet_earlier_line(row)
        held = current.get((trace.pk, given.labeller))
        if earlier_line or (held is not None and _same(held, given, comment)):
            self.report.same += 1
            return None
        if held is not None and not self.revise:
            raise RefusedRow(
                f'"{given.labeller}" has already labelled "{row.name}" otherwise; '
                "--revise makes this a new revision"
            )
        self.report.new += held is None
        self.report.revised += held is not None
        return Label(
            trace=trace,
            arm=self.arm,
            labeller=given.labeller,
            person=person,
            final_correct=given.final_correct,
            first_error_step=given.first_error_step,
            first_error_step_min=given.first_error_step_min,
            first_error_step_max=given.first_error_step_max,
            comment=comment,
            revision=held.revision + 1 if held else 1,
            supersedes=held,
            source=f"{self.source_name}:{row.line}",
        )

    def _meet_earlier_line(self, row: LabelRow) -> bool:
        """Whether an earlier line of this file said the same; RefusedRow if it said otherwise."""
        key = (*row.key, row.label.labeller)
        line, label = self.seen.setdefault(key, (row.line, row.label))
        if line == row.line:
            return False
        if label != row.label:
            raise RefusedRow(f'"{row.label.labeller}" labels "{row.name}" otherwise on line {line}')
        return True


def _same(held: Label, given: LabelRecord, comment: str) -> bool:
    values = (
        held.final_correct,
        held.first_error_step,
        held.first_error_step_min,
        held.first_error_step_max,
    )
    return values == given.values and held.comment == comment
