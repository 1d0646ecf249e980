"""Importing specifications, execution records, certificates, mappings and flags: JSON Lines, all or nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db import transaction

from annotation.access import study_named
from annotation.imports.fields import Fields, RefusedRow
from annotation.imports.reading import Row, Source
from annotation.imports.records import MAX_QUESTION_ID, MAX_RESPONSE_LABEL
from annotation.models import Question, Study, Trace
from core import audit
from core.errors import BadRow, UserError
from core.models import User
from verification.services.evidence import put_certificate, put_execution, put_flag
from verification.services.specifications import put_mapping, put_specification

OF_QUESTION = frozenset({"kind", "question_id"})
OF_TRACE = OF_QUESTION | {"response_label"}
KNOWN = {
    "specification": OF_QUESTION
    | {"assumptions", "target", "obligations", "tools", "environments", "limits", "rules"},
    "execution": OF_TRACE | {"calls", "attempts", "elapsed_seconds"},
    "certificate": OF_TRACE | {"programme", "certificate"},
    "mapping": OF_TRACE | {"obligation", "steps", "status", "reason"},
    "flag": OF_TRACE | {"flag", "concern", "step", "call", "value", "raised_by"},
}
# what another kind rests on comes first, wherever it stands in the file
ORDER = ("specification", "execution", "certificate", "mapping", "flag")


@dataclass
class EvidenceReport:
    """What an import did, or would do: rows by kind, new and already here."""

    file: str
    study: str
    dry_run: bool
    sha256: str = ""
    new: Counter[str] = field(default_factory=Counter)
    same: Counter[str] = field(default_factory=Counter)
    bad: list[BadRow] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return the report as plain JSON."""
        return {
            "file": self.file,
            "sha256": self.sha256,
            "study": self.study,
            "dry_run": self.dry_run,
            "new": dict(sorted(self.new.items())),
            "unchanged": dict(sorted(self.same.items())),
            "bad_rows": [{"line": row.line, "reason": row.reason} for row in self.bad],
        }


def import_evidence(
    *,
    path: str | Path,
    study_slug: str,
    revise: bool = False,
    dry_run: bool = False,
    actor: User | None = None,
) -> EvidenceReport:
    """Import a file, all of it or nothing. A mapping that differs from the current one needs `revise`.

    Raises UserError for an unknown study or an unreadable file, ImportRefused for bad rows; a dry run writes
    nothing and lists bad rows in the report instead.
    """
    study = study_named(study_slug)
    with Source(path) as source, transaction.atomic():
        report = EvidenceReport(source.name, study.slug, dry_run)
        rows: dict[str, list[Row]] = {kind: [] for kind in ORDER}
        for row in source.rows():
            kind = row.fields.get("kind")
            if kind not in KNOWN:
                source.refuse(row.line, f'"kind" must be one of {", ".join(ORDER)}')
            else:
                rows[kind].append(row)
        writer = _Writer(study, Path(source.name).name, revise, actor)
        for kind in ORDER:
            for row in rows[kind]:
                try:
                    written = writer.write(kind, row)
                except (RefusedRow, UserError) as error:
                    source.refuse(row.line, str(error))
                else:
                    (report.new if written else report.same)[kind] += 1
        report.sha256 = source.sha256
        report.bad = sorted(source.bad, key=lambda row: row.line)
        if dry_run:
            transaction.set_rollback(True)
            return report
        source.raise_if_bad()
        source.raise_if_empty(sum(len(found) for found in rows.values()))
        if report.new:
            audit.record(
                scope=study.slug,
                actor=actor,
                action="evidence imported",
                subject=Path(source.name).name[:200],
                payload=report.as_json(),
            )
    return report


class _Writer:
    """Writes single rows; says whether anything new was written."""

    def __init__(self, study: Study, file: str, revise: bool, actor: User | None) -> None:
        self.study, self.file, self.revise, self.actor = study, file[:180], revise, actor

    def write(self, kind: str, row: Row) -> bool:
        fields = Fields(row.fields, known=KNOWN[kind])
        writers: dict[str, Callable[[Fields, str], object]] = {
            "specification": self.specification,
            "execution": self.execution,
            "certificate": self.certificate,
            "mapping": self.mapping,
            "flag": self.flag,
        }
        return writers[kind](fields, f"{self.file}:{row.line}") is not None

    def question(self, fields: Fields) -> Question:
        name = fields.identifier("question_id", max_length=MAX_QUESTION_ID)
        question = Question.objects.filter(study=self.study, external_id=name).first()
        if question is None:
            raise RefusedRow(f'no question "{name}" in study "{self.study.slug}"')
        return question

    def trace(self, fields: Fields) -> Trace:
        question = self.question(fields)
        label = fields.identifier("response_label", max_length=MAX_RESPONSE_LABEL)
        trace = Trace.objects.filter(question=question, response_label=label).first()
        if trace is None:
            raise RefusedRow(f'no trace "{question.external_id}/{label}" in study "{self.study.slug}"')
        trace.question, trace.study = question, self.study
        return trace

    def specification(self, fields: Fields, source: str) -> object:
        data = {name: value for name, value in fields.values.items() if name not in OF_QUESTION}
        return put_specification(question=self.question(fields), data=data, author=self.actor, source=source)

    def execution(self, fields: Fields, source: str) -> object:
        return put_execution(trace=self.trace(fields), data=fields.values, source=source)

    def certificate(self, fields: Fields, source: str) -> object:
        return put_certificate(trace=self.trace(fields), data=fields.values, source=source)

    def mapping(self, fields: Fields, source: str) -> object:
        steps = fields.values.get("steps", [])
        if not isinstance(steps, list) or not all(type(step) is int for step in steps):
            raise RefusedRow('"steps" must be a list of whole numbers')
        return put_mapping(
            trace=self.trace(fields),
            obligation=fields.text("obligation"),
            steps=steps,
            status=fields.text("status"),
            reason=fields.text("reason", default=""),
            author=self.actor,
            source=source,
            revise=self.revise,
        )

    def flag(self, fields: Fields, source: str) -> object:
        data = {name: value for name, value in fields.values.items() if name not in OF_TRACE}
        data["kind"] = data.pop("flag", None)
        return put_flag(trace=self.trace(fields), data=data)
