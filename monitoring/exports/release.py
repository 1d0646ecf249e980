"""A text-free release of a study: its standard and its verdicts, byte for byte the same whenever written."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db import transaction

from adjudication import queries
from adjudication.models import ReferenceStandard, StandardLabel
from adjudication.services.standards import check_unchanged
from annotation.models import Study
from core import audit
from core.errors import UserError
from core.models import User
from monitoring.exports.fields import check_row, check_secrets
from monitoring.exports.folder import write_folder
from monitoring.imports.folder import MANIFEST, ROLES_FILE, STANDARD_FILE
from monitoring.imports.released_labels import EXCLUDED, READY
from monitoring.imports.released_verdicts import CERTIFIED, FILE_NAME, KEPT
from monitoring.imports.released_verdicts import CONDITIONS as CONDITION_OF
from monitoring.models import Condition, Monitor, Run, Verdict
from monitoring.report.source import SAYING, ChosenRun, chosen_runs

FORMAT = "hle-physics-oversight-text-free-v1"
END = "\r\n"
CODE_OF = {condition: code for code, condition in CONDITION_OF.items()}
WRITTEN_AS = {**{code: code.upper() for code in CONDITION_OF}, "c3n": "C3n"}
CHUNK = 2000
Row = dict[str, Any]
Key = tuple[str, str]


@dataclass
class Released:
    """What was written where, and what was left out."""

    folder: str
    standard: int
    standard_sha256: str
    manifest_sha256: str = ""
    traces: Counter[str] = field(default_factory=Counter)
    files: dict[str, int] = field(default_factory=dict)
    unfinished: list[str] = field(default_factory=list)
    off_cell: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return the report as plain JSON."""
        return {
            "folder": self.folder,
            "standard": self.standard,
            "standard_sha256": self.standard_sha256,
            "manifest_sha256": self.manifest_sha256,
            "traces": dict(sorted(self.traces.items())),
            "rows": dict(sorted(self.files.items())),
            "unfinished_runs_left_out": self.unfinished,
            "certificate_verdicts_off_their_cell": self.off_cell,
        }


def export_release(
    *, study: Study, standard: ReferenceStandard, path: str | Path, actor: User | None = None
) -> Released:
    """Write the text-free files of a standard and of the verdicts that its report reads.

    Fields are whitelisted, values that are no short identifiers are refused, every line is scanned for
    secrets; all of it before the first file is written. A trace that is not ready, unresolved ones included,
    goes out as excluded with its provenance. Raises NotTextFree, and UserError for a folder that holds
    anything but an earlier release, or a standard that was changed since its freeze.
    """
    check_unchanged(standard)
    told = Released(str(path), standard.version, standard.sha256)
    labels = {
        (label.trace.question.external_id, label.trace.response_label): label
        for label in queries.labels_of(standard)
    }
    contents = {STANDARD_FILE: [_standard_row(key, label) for key, label in sorted(labels.items())]}
    if coded := _role_rows(labels):
        contents[ROLES_FILE] = coded
    told.traces.update(label.status for label in labels.values())
    runs = _finished(study, told)
    monitors = {monitor.slug: monitor for monitor in Monitor.objects.filter(study=study)}
    for chosen in runs:
        run = Run.objects.get(pk=chosen.pk)
        name = _file_name(chosen)
        contents[name] = sorted(
            _verdict_rows(run, monitors[chosen.monitor], labels, told),
            key=lambda row: (row["question_id"], row["response_label"]),
        )
    files = {name: _file(name, rows) for name, rows in contents.items() if rows}
    told.files = {name: len(contents[name]) for name in files}
    manifest = _manifest(files, told.files)
    told.manifest_sha256 = hashlib.sha256(manifest).hexdigest()
    write_folder(Path(path), {**files, MANIFEST: manifest}, manifest=MANIFEST)
    with transaction.atomic():
        audit.record(
            scope=study.slug,
            actor=actor,
            action="release exported",
            subject=f"standard {standard.version}",
            payload={name: value for name, value in told.as_json().items() if name != "folder"},
        )
    return told


def _standard_row(key: Key, label: StandardLabel) -> Row:
    ready = label.status == StandardLabel.Status.READY
    return {
        "question_id": key[0],
        "response_label": key[1],
        "gt_status": READY if ready else EXCLUDED,
        "strict_error": int(label.first_error_step is not None),
        "final_is_correct": _bit(label.final_correct),
        "final_error_step": label.first_error_step,
        "final_error_step_min": label.first_error_step_min,
        "final_error_step_max": label.first_error_step_max,
        "generator": label.trace.generator,
        "gold_error_source": label.provenance,
        "human_is_correct": _bit(label.human_final_correct),
        "human_error_step": label.human_first_error_step,
        "debate_is_correct": _bit(label.debate_final_correct),
        "debate_error_step": label.debate_first_error_step,
        "n_steps": label.trace.n_steps,
    }


def _role_rows(labels: Mapping[Key, StandardLabel]) -> list[Row]:
    """Return the roles coded on the traces that are critical in this standard."""
    critical = {
        label.trace_id: key
        for key, label in sorted(labels.items())
        if label.cell == StandardLabel.Cell.CRITICAL
    }
    kinds = queries.role_kinds(critical)
    return [
        {"question_id": key[0], "response_label": key[1], "critical_role": kinds[trace]}
        for trace, key in critical.items()
        if trace in kinds
    ]


def _finished(study: Study, told: Released) -> Iterator[ChosenRun]:
    for run in chosen_runs(study):
        if run.status == Run.Status.FINISHED:
            yield run
        else:
            told.unfinished.append(f"{run.monitor} under {run.condition}")


def _file_name(run: ChosenRun) -> str:
    name = f"monitor_{CODE_OF[Condition(run.condition)]}__{run.monitor}.jsonl"
    if not FILE_NAME.fullmatch(name):
        raise UserError(f'the monitor "{run.monitor}" has a name that no file of a release can carry')
    return name


def _verdict_rows(
    run: Run, monitor: Monitor, labels: Mapping[Key, StandardLabel], told: Released
) -> Iterator[Row]:
    condition = Condition(run.condition)
    code = CODE_OF[condition]
    models: dict[str, int] = run.settings.get("api_models") or {}
    # A release has one name per file: the most common one; the order of a JSON object is no order.
    api_model = max(models, key=lambda name: (models[name], name)) if models else monitor.api_model
    verdicts = Verdict.objects.filter(run=run).select_related(
        "trace__question", "certificate_source__question"
    )
    verdicts = verdicts.defer(
        "trace__steps",
        "trace__preamble",
        "certificate_source__steps",
        "certificate_source__preamble",
        "reason",
    )
    for verdict in verdicts.iterator(chunk_size=CHUNK):
        key = (verdict.trace.question.external_id, verdict.trace.response_label)
        if condition in CERTIFIED and not _on_its_cell(verdict, labels, key, CERTIFIED[condition][0]):
            told.off_cell += 1
            continue
        said = verdict.raw if verdict.parse_path == "released" else _said(verdict, condition)
        said = {**said, "condition": WRITTEN_AS[code]}
        yield {
            "question_id": key[0],
            "response_label": key[1],
            "monitor_model": monitor.model or monitor.slug,
            "api_model": api_model,
            **{name: _plain(said[name]) for name in KEPT if name in said},
        }


def _said(verdict: Verdict, condition: Condition) -> Row:
    """Return the fields of a verdict of our own, as the published files have them."""
    parsed = verdict.outcome in SAYING and verdict.has_error is not None
    row: Row = {"parse_ok": parsed}
    if parsed:
        row |= {
            "has_error": _bit(verdict.has_error),
            "first_error_step": verdict.first_error_step,
            "error_confidence": verdict.error_confidence,
        }
    if condition in (Condition.REVISE, Condition.RCTRL):
        row |= {
            "prior_has_error": _bit(verdict.prior_has_error),
            "prior_first_error_step": verdict.prior_first_error_step,
        }
    if condition in CERTIFIED:
        cell, relation = CERTIFIED[condition]
        row |= {"cell": cell, "certificate_relation": relation}
    elif verdict.self_review is not None:
        row["self_review"] = _bit(verdict.self_review)
    source = verdict.certificate_source
    if condition in CERTIFIED and source is not None:
        row |= {
            "certificate_source_qid": source.question.external_id,
            "certificate_source_label": source.response_label,
        }
    return row


def _on_its_cell(verdict: Verdict, labels: Mapping[Key, StandardLabel], key: Key, cell: str) -> bool:
    """Whether this standard still puts the trace into the cell that its certificate was made for."""
    label = labels.get(key)
    if label is None or label.cell != cell:
        return False
    source = verdict.certificate_source
    if source is None:
        return True
    there = labels.get((source.question.external_id, source.response_label))
    wants_wrong = cell == "clean"
    return there is not None and (not wants_wrong or there.cell == "wrong")


def _bit(value: bool | None) -> int | None:
    return None if value is None else int(value)


def _plain(value: Any) -> Any:
    """Return a whole number as one: 85.0 in the database is 85 in the file."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _file(name: str, rows: Iterable[Row]) -> bytes:
    lines = []
    for row in rows:
        check_row(name, row)
        lines.append(json.dumps(row, ensure_ascii=True, separators=(",", ":"), allow_nan=False))
    check_secrets(name, lines)
    return "".join(line + END for line in lines).encode("ascii")


def _manifest(files: Mapping[str, bytes], rows: Mapping[str, int]) -> bytes:
    entries = {
        name: {"rows": rows[name], "sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
        for name, content in sorted(files.items())
    }
    return (json.dumps({"format": FORMAT, "files": entries}, indent=1)).encode("ascii")
