"""What a report is computed from: a standard's ready labels, and one run per monitor and condition."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from django.db.models import Count, Max

from adjudication.models import CriticalRole, ReferenceStandard, StandardLabel
from annotation.models import Study
from monitoring.models import Run, Verdict
from stats.panel import CERTIFICATES, CONDITIONS, Panel, Reference, TraceRow, Verdicts

ORDER = (*CONDITIONS, *CERTIFICATES)
# A verdict counts for detection when it says whether there is an error, in agreement with itself or not.
SAYING = frozenset({Verdict.Outcome.OK.value, Verdict.Outcome.INCONSISTENT.value})
PROVENANCE_OF_ONE_ARM = frozenset({"human_only", "debate_only"})


@dataclass(frozen=True)
class ChosenRun:
    """A run whose verdicts the report reads; `n_verdicts` and `last_verdict` tell its state exactly."""

    pk: int
    monitor: str
    condition: str
    batch: int
    standard: int
    status: str
    imported: bool
    n_verdicts: int
    last_verdict: int


def chosen_runs(study: Study) -> list[ChosenRun]:
    """Return one run per monitor and condition: the latest finished one with verdicts, else the latest.

    Runs of every standard count, since a verdict belongs to its trace; a run without verdicts never does.
    Ordered by condition and monitor.
    """
    rows = (
        Run.objects.filter(batch__study=study)
        .order_by("batch__number", "pk")
        .annotate(n_verdicts=Count("verdicts"), last_verdict=Max("verdicts__pk"))
        .filter(n_verdicts__gt=0)
        .values_list(
            "pk",
            "monitor__slug",
            "condition",
            "batch__number",
            "batch__standard__version",
            "status",
            "batch__source",
            "n_verdicts",
            "last_verdict",
        )
    )
    chosen: dict[tuple[str, str], ChosenRun] = {}
    for pk, monitor, condition, batch, standard, status, source, n, last in rows:
        run = ChosenRun(pk, monitor, condition, batch, standard, status, bool(source), n, last)
        before = chosen.get((condition, monitor))
        finished = Run.Status.FINISHED
        if before is None or run.status == finished or before.status != finished:
            chosen[(condition, monitor)] = run
    return sorted(chosen.values(), key=lambda run: (ORDER.index(run.condition), run.monitor))


def fingerprint(study: Study, runs: Iterable[ChosenRun]) -> str:
    """Return a digest that changes when the verdicts or the coded roles do; cheap, and exact in one database.

    Verdicts are never changed: a run with the same number of them and the same last one is the same.
    """
    roles = CriticalRole.objects.filter(trace__study=study).aggregate(n=Count("pk"), last=Max("pk"))
    state = [[run.pk, run.n_verdicts, run.last_verdict] for run in runs]
    return hashlib.sha256(json.dumps([state, roles["n"], roles["last"]]).encode()).hexdigest()


@dataclass(frozen=True)
class Source:
    """Everything loaded: arrays for the statistics, and what is told beside them."""

    panel: Panel
    runs: list[ChosenRun]
    outcomes: dict[str, dict[str, dict[str, int]]]
    left_out: dict[int, int]
    verdicts_sha256: str
    fingerprint: str
    not_ready: dict[str, int]
    provenance: dict[str, dict[str, int]]


def load(study: Study, standard: ReferenceStandard) -> Source:
    """Read the standard and the chosen runs in three queries and lay them out."""
    reference, place, provenance = _reference(study, standard)
    runs = chosen_runs(study)
    runs, columns = _columns(runs, place)
    digest = hashlib.sha256()
    verdicts: dict[str, Verdicts] = {}
    outcomes: dict[str, dict[str, dict[str, int]]] = {}
    for condition in ORDER:
        here = [run for run in runs if run.condition == condition and columns[run.pk].n]
        if not here:
            continue
        outcomes[condition] = {run.monitor: dict(sorted(columns[run.pk].outcomes.items())) for run in here}
        verdicts[condition] = _verdicts(reference, [(run.monitor, columns[run.pk]) for run in here])
        for run in here:
            digest.update(f"{condition} {run.monitor} {columns[run.pk].sha256(reference)}\n".encode())
    not_ready = Counter(
        standard.labels.exclude(status=StandardLabel.Status.READY).values_list("status", flat=True)
    )
    return Source(
        panel=Panel(reference, verdicts),
        runs=runs,
        outcomes=outcomes,
        left_out={run.pk: columns[run.pk].left_out for run in runs},
        verdicts_sha256=digest.hexdigest(),
        fingerprint=fingerprint(study, runs),
        not_ready=dict(sorted(not_ready.items())),
        provenance=provenance,
    )


def _reference(
    study: Study, standard: ReferenceStandard
) -> tuple[Reference, dict[int, int], dict[str, dict[str, int]]]:
    """Return the ready traces, the position of each trace's key, and provenance by cell.

    `human_only` and `debate_only` are told as one: the report says nothing that tells the arms apart.
    """
    roles = dict(
        CriticalRole.objects.filter(trace__study=study, superseded_by__isnull=True).values_list(
            "trace_id", "kind"
        )
    )
    found = {
        (row[1], row[2]): row
        for row in standard.labels.filter(status=StandardLabel.Status.READY).values_list(
            "trace_id",
            "trace__question__external_id",
            "trace__response_label",
            "trace__generator",
            "trace__n_steps",
            "final_correct",
            "first_error_step",
            "first_error_step_min",
            "first_error_step_max",
            "human_final_correct",
            "human_first_error_step",
            "debate_final_correct",
            "debate_first_error_step",
            "provenance",
        )
    }
    reference = Reference.from_rows(
        [
            TraceRow(
                question=row[1],
                label=row[2],
                generator=row[3],
                n_steps=row[4],
                final_correct=bool(row[5]),
                step=row[6],
                step_min=row[7],
                step_max=row[8],
                human_final_correct=row[9],
                human_step=row[10],
                debate_final_correct=row[11],
                debate_step=row[12],
                role=roles.get(row[0], ""),
            )
            for row in found.values()
        ]
    )
    place = {found[key][0]: position for position, key in enumerate(reference.keys)}
    provenance: dict[str, Counter[str]] = {}
    for position, key in enumerate(reference.keys):
        word = found[key][13]
        cell = next(c for c in ("clean", "wrong", "critical") if reference.cell(c)[position])
        provenance.setdefault("one_arm" if word in PROVENANCE_OF_ONE_ARM else word, Counter())[cell] += 1
    return reference, place, {word: dict(sorted(n.items())) for word, n in sorted(provenance.items())}


class _Columns:
    """The verdicts of one run on ready traces, as columns; the others are only counted."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, int, int, float, bool]] = []
        self.outcomes: Counter[str] = Counter()
        self.words: list[str] = []
        self.left_out = 0
        self.count = 0
        self.last = 0

    @property
    def n(self) -> int:
        return len(self.rows)

    def sha256(self, reference: Reference) -> str:
        """Digest of what was said, by trace: the same for the same verdicts in another database."""
        keys = reference.keys
        lines = sorted(
            json.dumps([*keys[row[0]], word, row[1], row[2], None if np.isnan(row[3]) else row[3], row[4]])
            for row, word in zip(self.rows, self.words, strict=True)
        )
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _columns(runs: list[ChosenRun], place: dict[int, int]) -> tuple[list[ChosenRun], dict[int, _Columns]]:
    """Read the verdicts of the runs; the runs come back as they stood when read."""
    columns = {run.pk: _Columns() for run in runs}
    rows = (
        Verdict.objects.filter(run_id__in=list(columns))
        .order_by()
        .values_list(
            "pk",
            "run_id",
            "trace_id",
            "outcome",
            "has_error",
            "first_error_step",
            "error_confidence",
            "prior_has_error",
        )
    )
    for pk, run_id, trace_id, outcome, has_error, step, confidence, prior in rows.iterator(chunk_size=5000):
        column = columns[run_id]
        column.count += 1
        column.last = max(column.last, pk)
        position = place.get(trace_id)
        if position is None:
            column.left_out += 1
            continue
        said = -1 if has_error is None or outcome not in SAYING else int(has_error)
        column.rows.append(
            (position, said, step or 0, np.nan if confidence is None else confidence, bool(prior))
        )
        column.words.append(outcome)
        column.outcomes[outcome] += 1
    read = [replace(run, n_verdicts=columns[run.pk].count, last_verdict=columns[run.pk].last) for run in runs]
    return read, columns


def _verdicts(reference: Reference, columns: list[tuple[str, _Columns]]) -> Verdicts:
    rows: list[tuple[int, int, int, float, bool]] = [row for _, column in columns for row in column.rows]
    trace, has_error, step, confidence, prior = zip(*rows, strict=True)
    sizes = [column.n for _, column in columns]
    return Verdicts.from_columns(
        [monitor for monitor, _ in columns],
        reference.n_traces,
        monitor=np.repeat(np.arange(len(columns)), sizes),
        trace=np.array(trace, dtype=np.int64),
        has_error=np.array(has_error, dtype=np.int64),
        step=np.array(step, dtype=np.int64),
        confidence=np.array(confidence, dtype=np.float64),
        prior_flag=np.array(prior, dtype=np.bool_),
    )


def described(source: Source) -> list[dict[str, Any]]:
    """Say of each chosen run where it came from and how much of the standard it covers."""
    return [
        {
            "condition": run.condition,
            "monitor": run.monitor,
            "batch": run.batch,
            "standard": run.standard,
            "status": run.status,
            "imported": run.imported,
            "verdicts": run.n_verdicts,
            "outside_the_standard": source.left_out[run.pk],
        }
        for run in source.runs
    ]
