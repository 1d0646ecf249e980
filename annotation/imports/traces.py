"""Importing questions with their traces: new ones are added, those here already must be the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from django.db import transaction

from annotation import hooks
from annotation.imports import formats, hle
from annotation.imports.fields import ConflictingRow, RefusedRow
from annotation.imports.reading import Source, read_each
from annotation.imports.records import LabelRecord, QuestionRecord, TraceRecord, letter
from annotation.imports.studies import study_for_import
from annotation.models import Label, Question, ReferenceAnswer, Study, Trace
from annotation.models.study import new_token
from annotation.services import tally
from annotation.steps import fingerprint
from core import audit, bulk
from core.errors import BadRow, UserError
from core.models import User

CHUNK = 500
AUDITED = 500  # items for review named in the audit trail; each such label says so itself


@dataclass(frozen=True)
class Review:
    """A label that needs a second look."""

    line: int
    question_id: str
    response_label: str
    reason: str


@dataclass
class TracesReport:
    """What an import of traces did, or would do."""

    file: str
    study: str
    format: str
    dry_run: bool
    sha256: str = ""
    study_made: bool = False
    rows: int = 0
    new: Counter[str] = field(default_factory=Counter)
    same: Counter[str] = field(default_factory=Counter)
    passed_over: Counter[str] = field(default_factory=Counter)
    labelled: int = 0
    with_error: int = 0
    review: list[Review] = field(default_factory=list)
    funnel: hle.Funnel | None = None
    bad: list[BadRow] = field(default_factory=list)

    @property
    def skipped(self) -> int:
        """Traces (of HLE: questions) that were here already, and rows that were passed over."""
        return self.same["questions" if self.funnel else "traces"] + self.passed_over.total()

    @property
    def conflicting(self) -> int:
        """Rows that contradict what is here."""
        return sum(row.conflict for row in self.bad)

    def as_json(self) -> dict[str, Any]:
        """Return the report as plain JSON."""
        kinds = ("questions", "reference_answers", "traces", "labels")
        return {
            "file": self.file,
            "sha256": self.sha256,
            "study": self.study,
            "format": self.format,
            "dry_run": self.dry_run,
            "rows": self.rows,
            "new": {kind: self.new[kind] for kind in kinds},
            "unchanged": {kind: self.same[kind] for kind in kinds},
            "passed_over": dict(self.passed_over),
            "labelled_traces": self.labelled,
            "traces_with_an_error": self.with_error,
            "review": [
                {
                    "line": item.line,
                    "question_id": item.question_id,
                    "response_label": item.response_label,
                    "reason": item.reason,
                }
                for item in self.review
            ],
            **({"funnel": self.funnel.as_json()} if self.funnel else {}),
            "skipped": self.skipped,
            "conflicting": self.conflicting,
            "bad_rows": [
                {"line": row.line, "reason": row.reason, "conflict": row.conflict} for row in self.bad
            ],
        }


def import_traces(
    *,
    path: str | Path,
    study_slug: str,
    format: str = formats.AUTO,
    review: str | None = None,
    pilot: bool = False,
    name: str = "",
    dry_run: bool = False,
    actor: User | None = None,
) -> TracesReport:
    """Import a file of questions with traces, all of it or nothing.

    `review` is a file of HLE questions to leave out or to exclude, with reasons. A study that does not exist
    is made, as a pilot with `pilot` and by the `name` that people see. Raises UserError for a file that cannot
    be read and ImportRefused for bad rows; a dry run writes nothing and lists bad rows in the report instead.
    """
    with Source(path) as source, bulk.uncollected(), transaction.atomic():
        report = TracesReport(source.name, study_slug, formats.resolve(source, format), dry_run)
        study, report.study_made = study_for_import(slug=study_slug, actor=actor, pilot=pilot, name=name)
        bulk.check_references_at_once()
        records = _records(source, report, review)
        chunk = list(islice(records, CHUNK))
        while chunk:
            report.rows += len(chunk)
            rows = _take(study, chunk, source, report)
            # Written even after a bad row, so that later lines meet the earlier ones; all of it is rolled back then.
            bulk.insert(rows.questions)
            bulk.insert(rows.answers)
            with bulk.inserting(rows.traces):
                chunk = list(islice(records, CHUNK))
            bulk.insert(rows.labels)
        if report.funnel:
            report.rows = report.funnel.rows
        report.sha256 = source.sha256
        report.bad = sorted(source.bad, key=lambda row: row.line)
        if dry_run:
            transaction.set_rollback(True)
            return report
        source.raise_if_bad()
        source.raise_if_empty(report.rows)
        if report.new["labels"]:
            hooks.labels_changed(study=study, actor=actor)
        if report.new.total():
            tally.refresh(study)
            audit.record(
                scope=study.slug,
                actor=actor,
                action="traces imported",
                subject=Path(source.name).name[:200],
                payload={**report.as_json(), "review": report.as_json()["review"][:AUDITED]},
            )
    return report


def _records(source: Source, report: TracesReport, review: str | None) -> Iterator[QuestionRecord]:
    """Yield the questions of a file in the report's format."""
    if report.format == formats.HLE:
        report.funnel = hle.Funnel()
        return hle.records(source, report.funnel, hle.read_review(review) if review else {})
    if review:
        raise UserError("a review goes with HLE; our own format excludes questions by their status")
    return read_each(source, lambda row: formats.read(report.format, row))


@dataclass
class _Held:
    """A question with what is here of it: its answers in order, its traces and their labels by labeller."""

    question: Question
    answers: list[str] = field(default_factory=list)
    traces: dict[str, Trace] = field(default_factory=dict)
    labels: dict[tuple[str, str], tuple[Any, ...]] = field(default_factory=dict)


@dataclass
class _Rows:
    """What is to be written; `file` is where it came from."""

    file: str
    questions: list[Question] = field(default_factory=list)
    answers: list[ReferenceAnswer] = field(default_factory=list)
    traces: list[Trace] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)


def _take(study: Study, records: list[QuestionRecord], source: Source, report: TracesReport) -> _Rows:
    """Return what is new in some records; what contradicts the database, or an earlier line, is a bad row."""
    held = _held(study, {record.external_id for record in records})
    rows = _Rows(Path(report.file).name)
    for record in records:
        if record.passed_over:
            report.passed_over[record.passed_over] += 1
            continue
        try:
            _take_one(study, record, held, rows, report)
        except RefusedRow as refusal:
            source.refuse(record.line, refusal)
    return rows


def _held(study: Study, external_ids: Iterable[str]) -> dict[str, _Held]:
    questions = Question.objects.filter(study=study, external_id__in=external_ids)
    held = {question.external_id: _Held(question) for question in questions}
    if not held:
        return held
    by_key = {entry.question.pk: entry for entry in held.values()}
    answers = ReferenceAnswer.objects.filter(question__in=by_key).order_by("version")
    for key, text in answers.values_list("question_id", "text"):
        by_key[key].answers.append(text)
    of_trace: dict[int, tuple[_Held, str]] = {}
    for trace in Trace.objects.filter(question__in=by_key).defer("steps", "preamble").order_by("pk"):
        entry = by_key[trace.question_id]
        entry.traces[trace.response_label] = trace
        of_trace[trace.pk] = (entry, trace.response_label)
    labels = Label.objects.filter(
        trace__question__in=by_key, arm=Label.Arm.HUMAN, superseded_by__isnull=True
    ).only("trace_id", "labeller", *VALUES)
    for label in labels:
        entry, response_label = of_trace[label.trace_id]
        entry.labels[response_label, label.labeller] = _values(label)
    return held


VALUES = ("final_correct", "first_error_step", "first_error_step_min", "first_error_step_max")


def _values(label: Label) -> tuple[Any, ...]:
    return tuple(getattr(label, name) for name in VALUES)


def _take_one(
    study: Study, record: QuestionRecord, held: dict[str, _Held], rows: _Rows, report: TracesReport
) -> None:
    entry = held.get(record.external_id)
    if entry is None:
        question = Question(
            study=study,
            external_id=record.external_id,
            statement=record.statement,
            rationale=record.rationale,
            subject=record.subject,
            status=record.status,
            exclusion_reason=record.exclusion_reason,
        )
        entry = held[record.external_id] = _Held(question)
        rows.questions.append(question)
        report.new["questions"] += 1
    else:
        _compare(entry.question, record)
        report.same["questions"] += 1
    _take_answers(entry, record, rows, report)
    for trace in record.traces:
        _take_trace(study, entry, record, trace, rows, report)


def _compare(question: Question, record: QuestionRecord) -> None:
    """Refuse a question that says otherwise under the same id. Its status is a matter of the study by now."""
    for name in ("statement", "rationale", "subject"):
        if getattr(question, name) != getattr(record, name):
            raise ConflictingRow(f'question "{record.external_id}" is already here with another {name}')


def _take_answers(entry: _Held, record: QuestionRecord, rows: _Rows, report: TracesReport) -> None:
    for number, (text, reason) in enumerate(record.answers, start=1):
        if number <= len(entry.answers):
            if entry.answers[number - 1] != text:
                which = "reference answer" if number == 1 else "corrected answer"
                raise ConflictingRow(f'question "{record.external_id}" is already here with another {which}')
            report.same["reference_answers"] += 1
            continue
        rows.answers.append(
            ReferenceAnswer(question=entry.question, version=number, text=text, reason=reason)
        )
        entry.answers.append(text)
        report.new["reference_answers"] += 1


def _take_trace(
    study: Study,
    entry: _Held,
    record: QuestionRecord,
    given: TraceRecord,
    rows: _Rows,
    report: TracesReport,
) -> None:
    digest = fingerprint(given.cut)
    name = given.response_label or _free_label(entry, digest)
    trace = entry.traces.get(name)
    if trace is None:
        trace = _new_trace(study.pk, name, given, digest, source=f"{rows.file[:180]}:{record.line}")
        QUESTION_OF.set_cached_value(trace, entry.question)
        entry.traces[name] = trace
        rows.traces.append(trace)
        report.new["traces"] += 1
    else:
        _compare_trace(trace, given, digest, f"{record.external_id}/{name}")
        report.same["traces"] += 1
    if given.label is not None:
        source = f"{rows.file[:180]}:{record.line}"
        _take_label(entry, trace, given.label, rows, report, source=source, of=record.external_id)
    if given.review:
        report.review.append(Review(record.line, record.external_id, name, given.review))


QUESTION_OF: Any = Trace._meta.get_field("question")


def _new_trace(study: int, name: str, given: TraceRecord, digest: str, *, source: str) -> Trace:
    """Return a trace whose question has no key yet; by position, since by name it takes three times as long."""
    cut = given.cut
    values: tuple[Any, ...] = (
        None,  # id
        new_token(),
        study,
        None,  # question_id
        name,
        given.generator,
        cut.kind,
        cut.preamble,
        list(cut.steps),
        cut.n_steps,
        digest,
        source,
        None,  # created_at
    )
    return Trace(*values)


def _free_label(entry: _Held, digest: str) -> str:
    """Return the label of the question's trace with the same text, else the next free letter."""
    for name, trace in entry.traces.items():
        if trace.sha256 == digest:
            return name
    number = 0
    while letter(number) in entry.traces:
        number += 1
    return letter(number)


def _compare_trace(trace: Trace, given: TraceRecord, digest: str, name: str) -> None:
    """Refuse a trace that says otherwise under the same id: traces are final."""
    if trace.cut == Trace.Cut.TEXT_FREE:
        raise ConflictingRow(f'trace "{name}" is already here without its text, from a release')
    if trace.sha256 != digest:
        raise ConflictingRow(f'trace "{name}" is already here with another text')
    if trace.generator != given.generator:
        raise ConflictingRow(f'trace "{name}" is already here with another generator')


def _take_label(
    entry: _Held,
    trace: Trace,
    given: LabelRecord,
    rows: _Rows,
    report: TracesReport,
    *,
    source: str,
    of: str,
) -> None:
    report.labelled += 1
    report.with_error += given.first_error_step is not None
    key = (trace.response_label, given.labeller)
    if key in entry.labels:
        if entry.labels[key] != given.values:
            raise ConflictingRow(
                f'"{given.labeller}" has already labelled "{of}/{trace.response_label}" otherwise'
            )
        report.same["labels"] += 1
        return
    rows.labels.append(
        Label(
            trace=trace,
            arm=Label.Arm.HUMAN,
            labeller=given.labeller,
            final_correct=given.final_correct,
            first_error_step=given.first_error_step,
            first_error_step_min=given.first_error_step_min,
            first_error_step_max=given.first_error_step_max,
            comment=given.comment,
            source=source,
        )
    )
    entry.labels[key] = given.values
    report.new["labels"] += 1
