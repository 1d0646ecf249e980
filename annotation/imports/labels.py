"""Importing labels of either arm: one a line, for traces that are here already (docs/formats.md)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models import Max

from annotation import blindness, hooks
from annotation.access import study_named
from annotation.exports.columns import KINDS
from annotation.imports.fields import ConflictingRow, RefusedRow, check_step
from annotation.imports.label_rows import (
    ALL,
    FIELDS,
    LabelRow,
    PassedOver,
    Reader,
    read,
    read_tool,
    tool_labeller,
    tool_matches,
)
from annotation.imports.reading import Source, read_each
from annotation.imports.records import MAX_LABELLER, LabelRecord
from annotation.imports.tables import rows_of
from annotation.models import (
    GuidelineVersion,
    KeyReport,
    Label,
    Membership,
    PilotJudgement,
    ReferenceAnswer,
    Study,
    Trace,
)
from annotation.pilot import NO_PILOT, PilotValues
from annotation.services import tally
from annotation.services.guideline import ensure_guideline, first_guideline
from core import audit, bulk
from core.errors import BadRow, UserError
from core.models import User

CHUNK = 500
AUTO, FALSESTEP, ANNOTATION_TOOL = "auto", "falsestep", "annotation_tool"
FORMATS = (AUTO, FALSESTEP, ANNOTATION_TOOL)
ARMS = (*Label.Arm.values, ALL)

__all__ = ["ARMS", "FIELDS", "FORMATS", "LabelsReport", "import_labels", "read"]


@dataclass
class LabelsReport:
    """What an import of labels did, or would do."""

    file: str
    study: str
    arm: str
    dry_run: bool
    format: str = FALSESTEP
    sha256: str = ""
    rows: int = 0
    new: int = 0
    revised: int = 0
    same: int = 0
    passed_over: Counter[str] = field(default_factory=Counter)
    guidelines_unknown: int = 0
    key_reports: int = 0
    keys_in_comments: int = 0
    labellers: Counter[str] = field(default_factory=Counter)
    strangers: set[str] = field(default_factory=set)
    bad: list[BadRow] = field(default_factory=list)

    @property
    def skipped(self) -> int:
        """Rows whose label was here already, or that bring none."""
        return self.same + self.passed_over.total()

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
            "arm": self.arm,
            "format": self.format,
            "dry_run": self.dry_run,
            "rows": self.rows,
            "new": self.new,
            "revised": self.revised,
            "unchanged": self.same,
            "passed_over": dict(self.passed_over),
            "skipped": self.skipped,
            "conflicting": self.conflicting,
            "labels_under_an_unknown_guideline": self.guidelines_unknown,
            "key_reports": self.key_reports,
            "key_reports_kept_in_comments": self.keys_in_comments,
            "labellers": dict(sorted(self.labellers.items())),
            "labellers_without_an_account": sorted(self.strangers),
            "bad_rows": [
                {"line": row.line, "reason": row.reason, "conflict": row.conflict} for row in self.bad
            ],
        }


def import_labels(
    *,
    path: str | Path,
    study_slug: str,
    arm: str,
    format: str = AUTO,
    labeller: str = "",
    revise: bool = False,
    dry_run: bool = False,
    actor: User | None = None,
) -> LabelsReport:
    """Import a file of labels of one arm, or with `all` of those that its rows name: all of it or nothing.

    A labeller who is a member of the study by that user name becomes the label's person. A label that differs
    from the labeller's current one is a bad row, or with `revise` a new revision that supersedes it. Rows that
    count revisions, as our own export's, bring a labeller's whole history. `labeller` names the annotator of a
    file of the annotation tool, whose name is otherwise taken from the file's.
    Raises UserError for an unknown study or an unreadable file, ImportRefused for bad rows; a dry run writes
    nothing and lists bad rows in the report instead.
    """
    if arm not in ARMS:
        raise UserError(f'no arm is called "{arm}"; there are: {", ".join(ARMS)}')
    if format not in FORMATS:
        raise UserError(f'no format is called "{format}"; there are: {", ".join(FORMATS)}')
    study = study_named(study_slug)
    with Source(path) as source, transaction.atomic():
        report = LabelsReport(source.name, study.slug, arm, dry_run)
        report.format, reader = _reader(source, format, arm, labeller)
        writer = _Writer(study, revise, report, source, actor)
        chunk: list[LabelRow] = []
        for row in read_each(source, reader, rows=rows_of(source, KINDS)):
            report.rows += 1
            if isinstance(row, PassedOver):
                report.passed_over[row.reason] += 1
                continue
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
        if report.new:
            tally.refresh(study)
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


def _reader(source: Source, format: str, arm: str, labeller: str) -> tuple[str, Reader]:
    """Return the format's name and what reads its rows."""
    if format == AUTO:
        try:
            names = set(source.first(lambda ahead: rows_of(ahead, KINDS)))
        except UserError:
            names = set()  # nothing can be read: the import itself says so, with every line
        format = ANNOTATION_TOOL if tool_matches(names) else FALSESTEP
    if format == FALSESTEP:
        if labeller:
            raise UserError("each row of our own format names its labeller: leave --labeller out")
        return format, lambda row: read(row, arm=arm)
    if arm != Label.Arm.HUMAN:
        raise UserError("the annotation tool's labels are people's: import them with --arm human")
    name = labeller or tool_labeller(source.name)
    if not name or len(name) > MAX_LABELLER:
        raise UserError(f"{source.name}: the file's name does not tell the annotator; say --labeller NAME")
    return format, lambda row: read_tool(row, labeller=name)


Chain = list[Label]
"""The revisions of one labeller's label on a trace, in order."""


def _as_reason(reasons: list[str]) -> str:
    return "\n".join(dict.fromkeys(reasons))


class _Writer:
    """Takes label rows in chunks and writes what is new."""

    def __init__(
        self, study: Study, revise: bool, report: LabelsReport, source: Source, actor: User | None
    ) -> None:
        self.study, self.revise, self.actor = study, revise, actor
        self.report, self.source = report, source
        self.source_name = Path(source.name).name[:180]
        self.seen: dict[tuple[str, str, str, str, int | None], tuple[int, LabelRecord, PilotValues]] = {}
        self.begun: set[tuple[int, str, str]] = set()
        self.keys: dict[tuple[int, int, int | None], list[str]] = {}
        members = Membership.objects.filter(study=study).select_related("person")
        self.people = {m.person.username: m.person for m in members}
        self.pilots: list[PilotJudgement] = []
        self.said: dict[tuple[int, str, str, int], PilotValues] = {}
        self.guidelines: dict[str, GuidelineVersion] | None = None

    def take(self, rows: list[LabelRow]) -> None:
        """Write one chunk, first revisions first, since later ones refer to them."""
        traces = self._traces({row.question_id for row in rows})
        chains = self._chains(trace.pk for trace in traces.values())
        new: dict[int, list[Label]] = {}
        for row in rows:
            try:
                label = self._label(row, traces.get(row.key), chains)
            except RefusedRow as refusal:
                self.source.refuse(row.line, refusal)
            else:
                if label is not None:
                    new.setdefault(label.revision, []).append(label)
        for _, labels in sorted(new.items()):
            bulk.insert(labels)
        bulk.insert(self.pilots)
        self.pilots = []

    def report_keys(self) -> None:
        """Turn what people said about keys into key reports, one per person and version of the key."""
        questions = {question for question, _, _ in self.keys}
        latest = dict(
            ReferenceAnswer.objects.filter(question__in=questions)
            .values("question_id")
            .annotate(latest=Max("version"))
            .values_list("question_id", "latest")
        )
        held: set[tuple[int, int, int]] = set()
        said: set[tuple[int, int, str]] = set()
        for report in KeyReport.objects.filter(question__in=questions):
            held.add((report.question_id, report.reporter_id, report.reference_version))
            said.add((report.question_id, report.reporter_id, report.reason))
        reports: dict[tuple[int, int, int], list[str]] = {}
        for (question, person, version), reasons in self.keys.items():
            # The same file read once more, after the key was corrected, does not doubt the correction.
            if version is None and (question, person, _as_reason(reasons)) in said:
                continue
            key = (question, person, min(version or latest.get(question, 1), latest.get(question, 1)))
            if key not in held:
                reports.setdefault(key, []).extend(reasons)
        bulk.insert(
            [
                KeyReport(
                    question_id=question,
                    reporter_id=person,
                    reference_version=version,
                    reason=_as_reason(reasons),
                )
                for (question, person, version), reasons in reports.items()
            ]
        )
        self.report.key_reports = len(reports)

    def _traces(self, question_ids: Iterable[str]) -> dict[tuple[str, str], Trace]:
        traces = (
            Trace.objects.filter(study=self.study, question__external_id__in=question_ids)
            .select_related("question")
            .only("response_label", "n_steps", "sha256", "question__external_id")
        )
        return {(trace.question.external_id, trace.response_label): trace for trace in traces}

    def _chains(self, traces: Iterable[int]) -> dict[tuple[int, str, str], Chain]:
        chains: dict[tuple[int, str, str], Chain] = {}
        traces = list(traces)
        labels = Label.objects.filter(trace__in=traces).order_by("revision")
        if self.report.arm != ALL:
            labels = labels.filter(arm=self.report.arm)
        pilots = PilotJudgement.objects.filter(label__trace__in=traces).select_related("label")
        if self.study.kind == Study.Kind.PILOT:
            for pilot in pilots:
                label = pilot.label
                self.said[label.trace_id, label.arm, label.labeller, label.revision] = PilotValues(
                    pilot.coherence, pilot.error_type
                )
        for label in labels:
            chains.setdefault((label.trace_id, label.arm, label.labeller), []).append(label)
        return chains

    def _label(
        self, row: LabelRow, trace: Trace | None, chains: dict[tuple[int, str, str], Chain]
    ) -> Label | None:
        """Return the label to write, None if it is here already; RefusedRow if it cannot be."""
        if trace is None:
            raise RefusedRow(f'no trace "{row.name}" in study "{self.study.slug}"')
        if row.pilot and self.study.kind != Study.Kind.PILOT:
            raise RefusedRow("coherence and the kind of error belong to a pilot study")
        if row.origin.trace_sha256 not in ("", trace.sha256):
            raise ConflictingRow(f'trace "{row.name}" has another text here than where the label was made')
        check_step('"first_error_step"', row.label.first_error_step, trace.n_steps)
        check_step('"first_error_step_max"', row.label.first_error_step_max, trace.n_steps)
        given = row.label
        person = self.people.get(given.labeller) if row.arm == Label.Arm.HUMAN else None
        comment = self._take_key(row, trace, person)
        self.report.labellers[given.labeller] += 1
        if person is None and row.arm == Label.Arm.HUMAN:
            self.report.strangers.add(given.labeller)
        earlier_line = self._meet_earlier_line(row)
        key = (trace.pk, row.arm, given.labeller)
        chain = chains.setdefault(key, [])
        if earlier_line or self._is_here(row, chain, comment):
            self.report.same += 1
            return None
        if not chain:
            self.begun.add(key)
        elif key not in self.begun:
            self._may_revise(row, trace)
        self.report.new += not chain
        self.report.revised += bool(chain)
        label = Label(
            trace=trace,
            arm=row.arm,
            labeller=given.labeller,
            person=person,
            final_correct=given.final_correct,
            first_error_step=given.first_error_step,
            first_error_step_min=given.first_error_step_min,
            first_error_step_max=given.first_error_step_max,
            comment=comment,
            guideline=self._guideline(row.origin.guideline_sha256),
            active_seconds=row.origin.active_seconds,
            revision=len(chain) + 1,
            supersedes=chain[-1] if chain else None,
            source=row.origin.source or f"{self.source_name}:{row.line}",
        )
        if row.origin.created_at is not None:
            label.created_at = row.origin.created_at
        if row.pilot:
            self.said[trace.pk, row.arm, given.labeller, label.revision] = row.pilot
            self.pilots.append(
                PilotJudgement(label=label, coherence=row.pilot.coherence, error_type=row.pilot.error_type)
            )
        chain.append(label)
        return label

    def _take_key(self, row: LabelRow, trace: Trace, person: User | None) -> str:
        """Note what the row says of the key; return the comment, which holds it where no person can."""
        if not row.key_wrong:
            return row.label.comment
        if person is None:
            self.report.keys_in_comments += 1
            return f"{row.label.comment}\nKey looks wrong: {row.key_wrong}".strip()
        reasons = self.keys.setdefault((trace.question_id, person.pk, row.key_wrong_version), [])
        if row.key_wrong not in reasons:
            reasons.append(row.key_wrong)
        return row.label.comment

    def _is_here(self, row: LabelRow, chain: Chain, comment: str) -> bool:
        """Whether the label stands in the chain; RefusedRow where the row's revision cannot follow it."""
        if row.revision is None:
            return bool(chain) and self._same(chain[-1], row, comment)
        if row.revision > len(chain) + 1:
            raise RefusedRow(
                f'revision {row.revision} of "{row.label.labeller}" on "{row.name}" comes without revision '
                f"{row.revision - 1}; revisions stand in their order"
            )
        if row.revision == len(chain) + 1:
            return False
        if not self._same(chain[row.revision - 1], row, comment):
            raise ConflictingRow(
                f'revision {row.revision} of "{row.label.labeller}" on "{row.name}" is here already and says '
                "otherwise"
            )
        return True

    def _same(self, held: Label, row: LabelRow, comment: str) -> bool:
        """Whether a label says what the row does; a file without the pilot's fields says nothing of them."""
        if not _same(held, row.label, comment):
            return False
        if row.revision is None and not row.pilot:
            return True
        key = (held.trace_id, held.arm, held.labeller, held.revision)
        return self.said.get(key, NO_PILOT) == row.pilot

    def _may_revise(self, row: LabelRow, trace: Trace) -> None:
        """Refuse to supersede a label that was here before, unless that is asked for and still allowed."""
        if not self.revise:
            raise ConflictingRow(
                f'"{row.label.labeller}" has already labelled "{row.name}" otherwise; '
                "--revise makes this a new revision"
            )
        try:
            blindness.refuse_revision(trace)
        except blindness.LabelInUse as error:
            raise ConflictingRow(
                f'a decision rests on the labels of "{row.name}"; take it back first'
            ) from error

    def _guideline(self, digest: str) -> GuidelineVersion | None:
        """Return the study's guideline with this text; the one we ship is published where there is none."""
        if not digest:
            return None
        if self.guidelines is None:
            self.guidelines = {
                _digest(version.text): version for version in self.study.guideline_versions.all()
            }
            if not self.guidelines and digest == _digest(first_guideline()):
                self.guidelines[digest] = ensure_guideline(study=self.study, actor=self.actor)
        found = self.guidelines.get(digest)
        self.report.guidelines_unknown += found is None
        return found

    def _meet_earlier_line(self, row: LabelRow) -> bool:
        """Whether an earlier line of this file said the same; RefusedRow if it said otherwise."""
        key = (*row.key, row.arm, row.label.labeller, row.revision)
        line, label, pilot = self.seen.setdefault(key, (row.line, row.label, row.pilot))
        if line == row.line:
            return False
        if (label, pilot) != (row.label, row.pilot):
            raise ConflictingRow(f'"{row.label.labeller}" labels "{row.name}" otherwise on line {line}')
        return True


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _same(held: Label, given: LabelRecord, comment: str) -> bool:
    values = (
        held.final_correct,
        held.first_error_step,
        held.first_error_step_min,
        held.first_error_step_max,
    )
    return values == given.values and held.comment == comment
