"""What a report is computed from: a standard's ready labels, and one run per monitor and condition."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
from django.db.models import Count, Max

from adjudication.models import Consultation, CriticalRole, ReferenceStandard, StandardLabel
from annotation.models import Label, Study
from monitoring.models import Run, Verdict
from monitoring.report.involvement import consulted_families, debate_families, family_of, marks
from monitoring.report.selection import Selection
from stats.panel import CELLS, CERTIFICATES, CONDITIONS, Ints, Panel, Reference, TraceRow, Verdicts

ORDER = (*CONDITIONS, *CERTIFICATES)
# A verdict counts for detection when it says whether there is an error, in agreement with itself or not.
SAYING = frozenset({Verdict.Outcome.OK.value, Verdict.Outcome.INCONSISTENT.value})
PROVENANCE_OF_ONE_ARM = frozenset({"human_only", "debate_only"})
OUTCOMES = {word: code for code, word in enumerate(Verdict.Outcome.values)}
# A verdict as 28 bytes: position of its trace, code of its outcome; -1 = not said, step 0 and confidence NaN = none.
VERDICT = np.dtype(
    [
        ("trace", "<i8"),
        ("outcome", "i1"),
        ("has_error", "i1"),
        ("prior", "i1"),
        ("self_review", "i1"),
        ("step", "<i8"),
        ("confidence", "<f8"),
    ]
)
AT_ONCE = 2_000


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
    keys = key_digests(reference)
    verdicts: dict[str, Verdicts] = {}
    outcomes: dict[str, dict[str, dict[str, int]]] = {}
    for condition in ORDER:
        here = [run for run in runs if run.condition == condition and columns[run.pk].n]
        if not here:
            continue
        outcomes[condition] = {run.monitor: columns[run.pk].outcomes for run in here}
        verdicts[condition] = _verdicts(reference, [(run.monitor, columns[run.pk]) for run in here])
        for run in here:
            digest.update(f"{condition} {run.monitor} {columns[run.pk].sha256(keys)}\n".encode())
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
    rows = list(
        standard.labels.filter(selection.on_labels(), status=StandardLabel.Status.READY).values_list(
            "trace__question__external_id",
            "trace__response_label",
            "final_correct",
            "first_error_step",
            "trace__n_steps",
            "first_error_step_min",
            "first_error_step_max",
            "trace__generator",
            "human_final_correct",
            "human_first_error_step",
            "debate_final_correct",
            "debate_first_error_step",
            "trace_id",
            "provenance",
        )
    )
    reference = Reference.from_rows(
        [
            TraceRow(row[0], row[1], bool(row[2]), *row[3:8], roles.get(row[12], ""), *row[8:12])
            for row in rows
        ]
    )
    keys = {(row[0], row[1]): row[12] for row in rows}
    place = {keys[key]: position for position, key in enumerate(reference.keys)}
    return reference, place, by_provenance(reference, {(row[0], row[1]): row[13] for row in rows})


def by_provenance(reference: Reference, words: dict[tuple[str, str], str]) -> dict[str, dict[str, int]]:
    """Count the ready traces by where their label comes from, and by cell; `words` by natural key.

    `human_only` and `debate_only` are told as one: the report says nothing that tells the arms apart.
    """
    named = np.select([reference.cell(c) for c in CELLS], CELLS, "").tolist()
    counted = Counter(zip((words[key] for key in reference.keys), named, strict=True))
    provenance: dict[str, Counter[str]] = {}
    for (word, cell), n in counted.items():
        told = "one_arm" if word in PROVENANCE_OF_ONE_ARM else word
        provenance.setdefault(told, Counter())[cell] += n
    return {word: dict(sorted(n.items())) for word, n in sorted(provenance.items())}


def records(
    trace: Sequence[int],
    outcome: Sequence[str],
    has_error: Sequence[bool | None],
    step: Sequence[int | None],
    confidence: Sequence[float | None],
    prior: Sequence[bool | None],
    self_review: Sequence[bool | None],
) -> npt.NDArray[np.void]:
    """Lay columns of verdicts out as records of VERDICT. (n,)"""
    out = np.empty(len(trace), dtype=VERDICT)
    out["trace"] = trace
    out["outcome"] = [OUTCOMES[word] for word in outcome]
    for name, values in (("has_error", has_error), ("prior", prior), ("self_review", self_review)):
        out[name] = _numbers(values, missing=-1)
    out["step"] = _numbers(step, missing=0)
    out["confidence"] = np.array(confidence, dtype=np.float64)
    out["has_error"][~np.isin(out["outcome"], [OUTCOMES[word] for word in SAYING])] = -1
    return out


def _numbers(values: Sequence[float | None], *, missing: int) -> npt.NDArray[np.float64]:
    return np.nan_to_num(np.array(values, dtype=np.float64), nan=missing)


@dataclass(frozen=True)
class Columns:
    """The verdicts of one run on ready traces, as records in the order of the traces; the others are only counted."""

    rows: npt.NDArray[np.void]
    left_out: int = 0

    @classmethod
    def of(cls, rows: Sequence[tuple[Any, ...]], *, left_out: int) -> Columns:
        """Lay out rows that hold what `records` takes, in any order."""
        found = records(*zip(*rows, strict=True)) if rows else np.empty(0, dtype=VERDICT)
        return cls(found[np.argsort(found["trace"])], left_out)

    @property
    def n(self) -> int:
        return len(self.rows)

    @property
    def outcomes(self) -> dict[str, int]:
        """How many verdicts have each outcome that occurs, by name."""
        n = np.bincount(self.rows["outcome"], minlength=len(OUTCOMES))
        return {word: int(n[code]) for word, code in sorted(OUTCOMES.items()) if n[code]}

    @property
    def self_review(self) -> tuple[Ints, Ints]:
        """Positions of the traces of which a verdict says whether they are of its own family, and what it says."""
        said = self.rows[self.rows["self_review"] >= 0]
        return said["trace"], said["self_review"]

    def sha256(self, keys: npt.NDArray[np.void]) -> str:
        """Digest of what was said, by the traces' own keys: the same for the same verdicts in another database."""
        said = [name for name in VERDICT.names or () if name not in ("trace", "self_review")]
        digest = hashlib.sha256(keys[self.rows["trace"]].tobytes())
        for name in said:
            digest.update(self.rows[name].tobytes())
        return digest.hexdigest()


def key_digests(reference: Reference) -> npt.NDArray[np.void]:
    """Return 16 bytes for each trace that tell its question and label. (n_traces,)"""
    joined = b"".join(
        hashlib.blake2b(f"{len(question)} {question} {label}".encode(), digest_size=16).digest()
        for question, label in reference.keys
    )
    return np.frombuffer(joined, dtype="V16")


def _columns(runs: list[ChosenRun], place: dict[int, int]) -> tuple[list[ChosenRun], dict[int, Columns]]:
    """Read the verdicts of the runs; the runs come back as they stood when read.

    Rows stay rows for AT_ONCE of them; what is kept of a verdict are the bytes of its record.
    """
    # A last entry stands for every trace that is not ready.
    traces = np.array([*sorted(place), np.iinfo(np.int64).max])
    positions = np.array([place.get(trace, -1) for trace in traces.tolist()])
    numbers = {run.pk: number for number, run in enumerate(runs)}
    counts, last = np.zeros(len(runs), dtype=np.int64), np.zeros(len(runs), dtype=np.int64)
    read, owners = [np.empty(0, dtype=VERDICT)], [np.empty(0, dtype=np.int64)]
    rows = (
        Verdict.objects.filter(run_id__in=list(numbers))
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
        .iterator(chunk_size=AT_ONCE)
    )
    while chunk := list(islice(rows, AT_ONCE)):
        pk, run_id, *said = zip(*chunk, strict=True)
        owner = np.array([numbers[one] for one in run_id])
        counts += np.bincount(owner, minlength=len(runs))
        np.maximum.at(last, owner, np.array(pk))
        found = records(*said)
        where = np.searchsorted(traces, found["trace"])
        ready = traces[where] == found["trace"]
        found["trace"] = positions[where]
        read.append(found[ready])
        owners.append(owner[ready])
    record, owner = np.concatenate(read), np.concatenate(owners)
    order = np.lexsort((record["trace"], owner))
    starts = np.searchsorted(owner[order], np.arange(1, len(runs)))
    parts = np.split(record[order], starts) if runs else []
    columns = {
        run.pk: Columns(part, left_out=int(counts[number]) - len(part))
        for number, (run, part) in enumerate(zip(runs, parts, strict=True))
    }
    stood = zip(runs, counts.tolist(), last.tolist(), strict=True)
    return [replace(run, n_verdicts=n, last_verdict=pk) for run, n, pk in stood], columns


def _verdicts(reference: Reference, columns: list[tuple[str, Columns]]) -> Verdicts:
    rows = np.concatenate([column.rows for _, column in columns])
    return Verdicts.from_columns(
        [monitor for monitor, _ in columns],
        reference.n_traces,
        monitor=np.repeat(np.arange(len(columns)), [column.n for _, column in columns]),
        trace=rows["trace"],
        has_error=rows["has_error"].astype(np.int64),
        step=rows["step"],
        confidence=rows["confidence"],
        prior_flag=rows["prior"] == 1,
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
