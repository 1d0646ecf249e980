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

from adjudication.models import Consultation, CriticalRole, ReferenceStandard, StandardLabel
from annotation.models import Label, Study
from monitoring.models import Run, Verdict
from monitoring.report.involvement import consulted_families, debate_families, family_of, marks
from monitoring.report.selection import Selection
from stats.panel import CELLS, CERTIFICATES, CONDITIONS, Panel, Reference, TraceRow, Verdicts

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
    family: str = ""


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
            "monitor__model",
        )
    )
    chosen: dict[tuple[str, str], ChosenRun] = {}
    for pk, monitor, condition, batch, standard, status, source, n, last, model in rows:
        family = family_of(model or monitor)
        run = ChosenRun(pk, monitor, condition, batch, standard, status, bool(source), n, last, family)
        before = chosen.get((condition, monitor))
        finished = Run.Status.FINISHED
        if before is None or run.status == finished or before.status != finished:
            chosen[(condition, monitor)] = run
    return sorted(chosen.values(), key=lambda run: (ORDER.index(run.condition), run.monitor))


def fingerprint(study: Study, runs: Iterable[ChosenRun]) -> str:
    """Return a digest that changes when runs, verdicts, coded roles, debate or consultations do; cheap and exact.

    Verdicts are never changed: a run with the same number of them and the same last one holds the same. Its status
    is told in the report, so it counts too.
    """
    roles = CriticalRole.objects.filter(trace__study=study).aggregate(n=Count("pk"), last=Max("pk"))
    asked = Consultation.objects.filter(decision__dispute__study=study).aggregate(
        n=Count("pk"), last=Max("pk"), changed=Count("decision__superseded_by")
    )
    debate = Label.objects.filter(trace__study=study, arm=Label.Arm.DEBATE).aggregate(
        n=Count("pk"), last=Max("pk")
    )
    state = [[run.pk, run.status, run.family, run.n_verdicts, run.last_verdict] for run in runs]
    return hashlib.sha256(json.dumps([state, roles, asked, debate]).encode()).hexdigest()


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


def load(study: Study, standard: ReferenceStandard, selection: Selection | None = None) -> Source:
    """Read the standard (or the selected part of it) and the chosen runs, and lay them out."""
    selected = selection or Selection()
    reference, place, provenance = _reference(study, standard, selected)
    runs, columns = _columns(chosen_runs(study), place)
    not_ready = Counter(
        standard.labels.filter(selected.on_labels())
        .exclude(status=StandardLabel.Status.READY)
        .values_list("status", flat=True)
    )
    families = {
        "debate": debate_families(study, place),
        "consulted": consulted_families(study, place),
    }
    return lay_out(
        reference,
        runs,
        columns,
        families=families,
        not_ready=dict(sorted(not_ready.items())),
        provenance=provenance,
        fingerprint=fingerprint(study, runs),
    )


def lay_out(
    reference: Reference,
    runs: list[ChosenRun],
    columns: dict[int, Columns],
    *,
    families: dict[str, dict[int, set[str]]],
    not_ready: dict[str, int],
    provenance: dict[str, dict[str, int]],
    fingerprint: str,
) -> Source:
    """Lay out verdicts that are read, whatever they were read from.

    `families` says which families of models judged a trace in the debate, or were asked by the lead, by
    position of the trace.
    """
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
    return Source(
        panel=Panel(reference, verdicts, marks(reference, runs, columns, families)),
        runs=runs,
        outcomes=outcomes,
        left_out={run.pk: columns[run.pk].left_out for run in runs},
        verdicts_sha256=digest.hexdigest(),
        fingerprint=fingerprint,
        not_ready=not_ready,
        provenance=provenance,
    )


def _reference(
    study: Study, standard: ReferenceStandard, selection: Selection
) -> tuple[Reference, dict[int, int], dict[str, dict[str, int]]]:
    """Return the ready traces, the position of each trace's key, and provenance by cell."""
    roles = dict(
        CriticalRole.objects.filter(trace__study=study, superseded_by__isnull=True).values_list(
            "trace_id", "kind"
        )
    )
    found = {
        (row[1], row[2]): row
        for row in standard.labels.filter(
            selection.on_labels(), status=StandardLabel.Status.READY
        ).values_list(
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
    return reference, place, by_provenance(reference, {key: row[13] for key, row in found.items()})


def by_provenance(reference: Reference, words: dict[tuple[str, str], str]) -> dict[str, dict[str, int]]:
    """Count the ready traces by where their label comes from, and by cell; `words` by natural key.

    `human_only` and `debate_only` are told as one: the report says nothing that tells the arms apart.
    """
    provenance: dict[str, Counter[str]] = {}
    named = np.select([reference.cell(c) for c in CELLS], CELLS, "").tolist()
    for key, cell in zip(reference.keys, named, strict=True):
        word = words[key]
        provenance.setdefault("one_arm" if word in PROVENANCE_OF_ONE_ARM else word, Counter())[cell] += 1
    return {word: dict(sorted(n.items())) for word, n in sorted(provenance.items())}


class Columns:
    """The verdicts of one run on ready traces, as columns; the others are only counted."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, int, int, float, bool]] = []
        self.outcomes: Counter[str] = Counter()
        self.words: list[str] = []
        self.self_review: dict[int, bool] = {}
        self.left_out = 0
        self.count = 0
        self.last = 0

    def add(
        self,
        position: int,
        *,
        outcome: str,
        has_error: bool | None,
        step: int | None,
        confidence: float | None,
        prior: bool | None,
        self_review: bool | None,
    ) -> None:
        """Add one verdict on the ready trace at a position."""
        said = -1 if has_error is None or outcome not in SAYING else int(has_error)
        value = np.nan if confidence is None else confidence
        self.rows.append((position, said, step or 0, value, bool(prior)))
        self.words.append(outcome)
        self.outcomes[outcome] += 1
        if self_review is not None:
            self.self_review[position] = self_review

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


def _columns(runs: list[ChosenRun], place: dict[int, int]) -> tuple[list[ChosenRun], dict[int, Columns]]:
    """Read the verdicts of the runs; the runs come back as they stood when read."""
    columns = {run.pk: Columns() for run in runs}
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
            "self_review",
        )
    )
    for pk, run_id, trace_id, outcome, has_error, step, confidence, prior, own in rows.iterator(
        chunk_size=5000
    ):
        column = columns[run_id]
        column.count += 1
        column.last = max(column.last, pk)
        position = place.get(trace_id)
        if position is None:
            column.left_out += 1
            continue
        column.add(
            position,
            outcome=outcome,
            has_error=has_error,
            step=step,
            confidence=confidence,
            prior=prior,
            self_review=own,
        )
    read = [replace(run, n_verdicts=columns[run.pk].count, last_verdict=columns[run.pk].last) for run in runs]
    return read, columns


def _verdicts(reference: Reference, columns: list[tuple[str, Columns]]) -> Verdicts:
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
