"""Importing verdicts that were made elsewhere, from a CSV file: one row a trace, monitor and condition."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from adjudication.models import ReferenceStandard
from annotation.imports.reading import Source, read_bytes
from annotation.imports.tables import csv_rows
from annotation.models import Study, Trace
from core import audit
from core.errors import BadRow, ImportRefused, UserError
from core.models import User
from monitoring.engine.bulk import insert_rows
from monitoring.models import Batch, Condition, Monitor, Run, Verdict

REQUIRED = ("question_id", "response_label", "monitor", "condition", "has_error", "first_error_step")
OPTIONAL = ("error_confidence", "outcome", "reason", "prior_has_error", "prior_first_error_step")
SAYING = (Verdict.Outcome.OK, Verdict.Outcome.INCONSISTENT)
_TRUTHS = {"1": True, "true": True, "0": False, "false": False, "": None}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
MOST_BYTES = 512 * 2**20

Key = tuple[str, str]


@dataclass
class VerdictsReport:
    """What an import of verdicts did, or would do."""

    file: str
    study: str
    dry_run: bool
    sha256: str = ""
    rows: int = 0
    runs: Counter[str] = field(default_factory=Counter)
    batch: int | None = None
    unchanged: bool = False
    bad: list[BadRow] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Return the report as plain JSON."""
        return {
            "file": self.file,
            "sha256": self.sha256,
            "study": self.study,
            "dry_run": self.dry_run,
            "rows": self.rows,
            "runs": dict(sorted(self.runs.items())),
            "batch": self.batch,
            "unchanged": self.unchanged,
            "bad_rows": [{"line": row.line, "reason": row.reason} for row in self.bad],
        }


class _Bad(Exception):
    """A row that cannot be taken; the message says why."""


def import_verdicts(
    *, path: str | Path, study: Study, standard: ReferenceStandard, dry_run: bool, actor: User | None
) -> VerdictsReport:
    """Import a file of verdicts as a finished batch, all of it or nothing.

    Monitors that the study does not have are made. The same file twice changes nothing. Raises UserError for an
    unreadable file, ImportRefused for bad rows; a dry run writes nothing and lists them in the report instead.
    """
    content = _content(Path(path))
    report = VerdictsReport(Path(path).name, study.slug, dry_run, hashlib.sha256(content).hexdigest())
    known = (
        Run.objects.filter(batch__study=study, settings__sha256=report.sha256).select_related("batch").first()
    )
    if known is not None:
        report.unchanged, report.batch = True, known.batch.number
        return report
    verdicts: dict[tuple[str, str], list[Verdict]] = {}
    traces = {
        (trace.question.external_id, trace.response_label): trace
        for trace in Trace.objects.filter(study=study)
        .select_related("question")
        .only("response_label", "n_steps", "question__external_id")
    }
    seen: dict[tuple[Key, str, str], int] = {}
    source = Source.of_bytes(str(path), content)
    for line, row in _rows(source):
        report.rows += 1
        try:
            place, verdict = _read(row, traces)
            key = ((row["question_id"], row["response_label"]), *place)
            if key in seen:
                raise _Bad(f"the same trace, monitor and condition stand on line {seen[key]} already")
            seen[key] = line
        except _Bad as error:
            report.bad.append(BadRow(line=line, reason=str(error)))
            continue
        verdicts.setdefault(place, []).append(verdict)
        report.runs[f"{place[0]} {place[1]}"] += 1
    report.bad = sorted([*report.bad, *source.bad], key=lambda row: row.line)
    if report.bad and not dry_run:
        raise ImportRefused(str(path), report.bad)
    if not report.rows and not report.bad:
        raise UserError(f"{path} holds no rows")
    if not dry_run:
        _write(study, standard, verdicts, report, actor)
    return report


def _content(path: Path) -> bytes:
    if path.is_file() and path.stat().st_size > MOST_BYTES:
        raise UserError(f"{path} is larger than {MOST_BYTES // 2**20} MB")
    return read_bytes(path)


def _rows(source: Source) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield line and cells of each row; an empty cell is an empty text."""
    checked = False
    for row in csv_rows(source, {}):
        if not checked:
            _check_columns(source.name, list(row.fields))
            checked = True
        yield row.line, {name: (cell or "").strip() for name, cell in row.fields.items()}


def _check_columns(file: str, names: list[str]) -> None:
    missing = [name for name in REQUIRED if name not in names]
    unknown = [name for name in names if name not in (*REQUIRED, *OPTIONAL)]
    if missing or unknown:
        raise UserError(
            f"{file}: the first line names the columns: {', '.join(REQUIRED)}, and perhaps {', '.join(OPTIONAL)}; "
            f"missing: {', '.join(missing) or 'none'}; unknown: {', '.join(unknown) or 'none'}"
        )


def _read(row: dict[str, str], traces: dict[Key, Trace]) -> tuple[tuple[str, str], Verdict]:
    trace = traces.get((row["question_id"], row["response_label"]))
    if trace is None:
        raise _Bad(f'no trace "{row["question_id"]}/{row["response_label"]}" in the study')
    condition = row["condition"].upper()
    if condition not in Condition.values:
        raise _Bad(f'no condition "{row["condition"]}"; there are: {", ".join(Condition.values)}')
    if not _NAME.fullmatch(row["monitor"]):
        raise _Bad(f'"{row["monitor"][:40]}" is no name of a monitor: letters, digits, dot, dash, underscore')
    has_error, step = _truth(row, "has_error"), _step(row, "first_error_step", trace)
    said = has_error is not None
    usual = Verdict.Outcome.INVALID
    if said:
        usual = Verdict.Outcome.OK if has_error == (step is not None) else Verdict.Outcome.INCONSISTENT
    outcome = row.get("outcome") or usual
    if outcome not in Verdict.Outcome.values:
        raise _Bad(f'no outcome "{outcome}"; there are: {", ".join(Verdict.Outcome.values)}')
    if said and outcome != usual:
        raise _Bad(f'has_error and first_error_step come to "{usual}", not "{outcome}"')
    if not said and (outcome in SAYING or step is not None):
        raise _Bad(f'"{outcome}" needs has_error, and so does a step')
    return (row["monitor"], condition), Verdict(
        trace=trace,
        outcome=outcome,
        has_error=has_error,
        first_error_step=step,
        error_confidence=_confidence(row),
        reason=row.get("reason", "")[:600].replace("\0", "\ufffd"),
        parse_path="imported",
        prior_has_error=_truth(row, "prior_has_error"),
        prior_first_error_step=_step(row, "prior_first_error_step", trace),
    )


def _truth(row: dict[str, str], name: str) -> bool | None:
    value = row.get(name, "").lower()
    if value not in _TRUTHS:
        raise _Bad(f'"{name}" is 1, 0 or empty, not "{value[:40]}"')
    return _TRUTHS[value]


def _step(row: dict[str, str], name: str, trace: Trace) -> int | None:
    value = row.get(name, "")
    if not value:
        return None
    if not (value.isascii() and value.isdigit() and len(value) < 10):
        raise _Bad(f'"{name}" is a whole number from 1, or empty, not "{value[:40]}"')
    step = int(value)
    if step < 1 or (trace.n_steps is not None and step > trace.n_steps):
        raise _Bad(f'"{name}" is {step}; the trace has steps 1 to {trace.n_steps}')
    return step


def _confidence(row: dict[str, str]) -> float | None:
    value = row.get("error_confidence", "")
    if not value:
        return None
    try:
        confidence = float(value)
    except ValueError:
        confidence = -1.0
    if not 0 <= confidence <= 100:
        raise _Bad(f'"error_confidence" is a number from 0 to 100, or empty, not "{value[:40]}"')
    return confidence


def _write(
    study: Study,
    standard: ReferenceStandard,
    verdicts: dict[tuple[str, str], list[Verdict]],
    report: VerdictsReport,
    actor: User | None,
) -> None:
    now = timezone.now()
    with transaction.atomic():
        Study.objects.select_for_update().get(pk=study.pk)
        newest = Batch.objects.filter(study=study).aggregate(newest=Max("number"))["newest"] or 0
        batch = Batch.objects.create(
            study=study,
            standard=standard,
            number=newest + 1,
            status=Batch.Status.FINISHED,
            source=report.file[:200],
            launched_by=actor,
            finished_at=now,
        )
        for (slug, condition), rows in sorted(verdicts.items()):
            monitor, _ = Monitor.objects.get_or_create(
                study=study, slug=slug, defaults={"provider": Monitor.Provider.RELEASED, "temperature": None}
            )
            run = Run.objects.create(
                batch=batch,
                monitor=monitor,
                condition=condition,
                status=Run.Status.FINISHED,
                finished_at=now,
                settings={"file": report.file, "sha256": report.sha256, "rows": len(rows)},
            )
            for row in rows:
                row.run_id = run.pk
            insert_rows(Verdict, rows)
        report.batch = batch.number
        audit.record(
            scope=study.slug,
            actor=actor,
            action="verdicts imported",
            subject=f"batch {batch.number}",
            payload=report.as_json(),
        )
