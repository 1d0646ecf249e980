"""A report straight from the folder of a text-free release: no study, no database."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from adjudication.services.hashing import StandardRow, standard_sha256
from annotation.imports.reading import Source as Reading
from core.errors import UserError
from monitoring.imports.folder import STANDARD_FILE, open_release
from monitoring.imports.released_labels import READY, ReleasedLabel, read_standard
from monitoring.imports.released_roles import read_roles
from monitoring.imports.released_verdicts import monitor_and_condition, read_verdicts
from monitoring.report.involvement import family_of
from monitoring.report.source import ORDER, ChosenRun, Columns, Source, by_provenance, lay_out
from stats.panel import Reference, TraceRow


@dataclass(frozen=True)
class Release:
    """A release that was read, with the name and the hash that its standard would have when imported."""

    name: str
    sha256: str
    source: Source


def read_release(path: str | Path) -> Release:
    """Read a release by the importer's own rules; UserError or ImportRefused say what is wrong with it."""
    folder = open_release(path)
    with Reading.of_bytes(STANDARD_FILE, folder.files[STANDARD_FILE].content) as source:
        labels = read_standard(source)
        source.raise_if_bad()
    if not labels:
        raise UserError(f"{STANDARD_FILE} holds no rows")
    roles = read_roles(folder, labels)
    reference = Reference.from_rows(
        [
            _row(label, roles[label.key].kind if label.key in roles else "")
            for label in labels.values()
            if label.ready
        ]
    )
    place = {key: position for position, key in enumerate(reference.keys)}
    lengths = {key: label.n_steps for key, label in labels.items()}
    runs: list[ChosenRun] = []
    columns: dict[int, Columns] = {}
    for name, file in folder.files.items():
        named = monitor_and_condition(name)
        if named is None:
            continue
        monitor, condition = named
        with Reading.of_bytes(name, file.content) as source:
            read = read_verdicts(
                source,
                sha256=file.sha256,
                monitor=monitor,
                condition=condition,
                labels=labels,
                lengths=lengths,
            )
            source.raise_if_bad()
        pk = len(runs) + 1
        rows = [
            (
                place[key],
                str(verdict.outcome),
                verdict.has_error,
                verdict.first_error_step,
                verdict.error_confidence,
                verdict.prior_has_error,
                verdict.self_review,
            )
            for key, verdict in read.kept.items()
            if key in place
        ]
        columns[pk] = Columns.of(rows, left_out=len(read.kept) - len(rows))
        runs.append(
            ChosenRun(
                pk,
                monitor,
                str(condition),
                batch=1,
                standard=1,
                status="finished",
                imported=True,
                n_verdicts=len(read.kept),
                last_verdict=0,
                family=family_of(read.model or monitor),
            )
        )
    runs.sort(key=lambda run: (ORDER.index(run.condition), run.monitor))
    not_ready = Counter("excluded" for label in labels.values() if not label.ready)
    return Release(
        name=folder.name,
        sha256=standard_sha256([_standard_row(label) for label in labels.values()], None),
        source=lay_out(
            reference,
            runs,
            columns,
            families={},
            not_ready=dict(not_ready),
            provenance=by_provenance(reference, {key: label.provenance for key, label in labels.items()}),
            fingerprint="",
        ),
    )


def _row(label: ReleasedLabel, role: str) -> TraceRow:
    human, debate = label.human or (None, None), label.debate or (None, None)
    return TraceRow(
        question=label.question_id,
        label=label.response_label,
        generator=label.generator,
        n_steps=label.n_steps,
        final_correct=bool(label.final_correct),
        step=label.first_error_step,
        step_min=label.first_error_step_min,
        step_max=label.first_error_step_max,
        human_final_correct=human[0],
        human_step=human[1],
        debate_final_correct=debate[0],
        debate_step=debate[1],
        role=role,
    )


def _standard_row(label: ReleasedLabel) -> StandardRow:
    """The row as the importer freezes it: a text-free trace has no hash of its text."""
    human, debate = label.human or (None, None), label.debate or (None, None)
    return StandardRow(
        question_id=label.question_id,
        response_label=label.response_label,
        trace_sha256="",
        status=READY if label.ready else "excluded",
        status_reason="" if label.ready else label.provenance,
        final_correct=label.final_correct,
        first_error_step=label.first_error_step,
        first_error_step_min=label.first_error_step_min,
        first_error_step_max=label.first_error_step_max,
        provenance=label.provenance,
        human_final_correct=human[0],
        human_first_error_step=human[1],
        debate_final_correct=debate[0],
        debate_first_error_step=debate[1],
    )
