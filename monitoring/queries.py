"""Reads of monitors and batches; nothing here writes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.db.models import Count, QuerySet
from django.utils import timezone

from annotation.models import Study
from monitoring.engine.planning import Plan
from monitoring.models import Attempt, Batch, Call, Monitor, Run, RunCount, Verdict

RATE_ROWS = 500  # a rate is that of the last so many verdicts of the batch,
RATE_SECONDS = 60.0  # as far as they are not older
SAMPLES = 5


@dataclass
class Cell:
    """One run of a batch as it stands: calls by state, verdicts by outcome, money."""

    run: Run
    states: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    cost: Decimal = Decimal(0)
    errors: int = 0  # attempts that failed

    @property
    def total(self) -> int:
        """Calls of the run, without those that turned out needless; of an imported run, its verdicts."""
        asked = sum(self.states.values()) - self.states[Call.Status.SKIPPED]
        return asked if self.states else sum(self.outcomes.values())

    @property
    def skipped(self) -> int:
        """Calls that turned out needless: a step after a flag, a follow-up of a verdict that is not ok."""
        return self.states[Call.Status.SKIPPED]

    @property
    def done(self) -> int:
        """Calls that need no more work."""
        return self.states[Call.Status.DONE] if self.states else sum(self.outcomes.values())

    @property
    def in_flight(self) -> int:
        """Calls that a worker holds."""
        return self.states[Call.Status.RUNNING]

    @property
    def failed(self) -> int:
        """Verdicts that say nothing about the trace."""
        spoken = (Verdict.Outcome.OK, Verdict.Outcome.INCONSISTENT)
        return sum(number for outcome, number in self.outcomes.items() if outcome not in spoken)

    def ordered_outcomes(self) -> list[tuple[str, int]]:
        """Outcomes that occur, with their numbers, in the order of the glossary."""
        return [(name, self.outcomes[name]) for name in Verdict.Outcome.values if self.outcomes[name]]


@dataclass
class Progress:
    """A batch as it stands: the matrix of its runs, its pace, its money, and samples of what went wrong."""

    batch: Batch
    cells: list[Cell]
    rates: dict[int, float]  # calls per second lately, by monitor
    errors: list[Attempt]

    @property
    def total(self) -> int:
        """Calls over all runs."""
        return sum(cell.total for cell in self.cells)

    @property
    def done(self) -> int:
        """Calls that need no more work, over all runs."""
        return sum(cell.done for cell in self.cells)

    @property
    def failed(self) -> int:
        """Failures over all runs."""
        return sum(cell.failed for cell in self.cells)

    @property
    def per_second(self) -> float:
        """Calls per second lately, of the monitors that are not done."""
        return sum(self.rates.get(monitor, 0.0) for monitor in self._left())

    @property
    def seconds_left(self) -> float | None:
        """How long the slowest monitor still takes at its present rate; None where one has no rate, or at rest."""
        left = self._left()
        if self.batch.status != Batch.Status.RUNNING or not left or not all(map(self.rates.get, left)):
            return None
        return max(number / self.rates[monitor] for monitor, number in left.items())

    def _left(self) -> dict[int, int]:
        """Calls that are not done, by monitor; those with none are left out."""
        left: Counter[int] = Counter()
        for cell in self.cells:
            left[cell.run.monitor_id] += cell.total - cell.done
        return dict(+left)

    def by_monitor(self) -> list[tuple[Monitor, dict[str, Cell]]]:
        """The matrix: monitors down, each with its cells by condition."""
        rows: dict[int, tuple[Monitor, dict[str, Cell]]] = {}
        for cell in self.cells:
            monitor = cell.run.monitor
            rows.setdefault(monitor.pk, (monitor, {}))[1][cell.run.condition] = cell
        return list(rows.values())


def monitors_of(study: Study) -> QuerySet[Monitor]:
    """Return a study's monitors with the number of their runs (`n_runs`)."""
    return Monitor.objects.filter(study=study).annotate(n_runs=Count("runs")).order_by("slug")


def batches_of(study: Study) -> QuerySet[Batch]:
    """Return a study's batches, the newest first, with the number of their runs (`n_runs`)."""
    batches = Batch.objects.filter(study=study).select_related("standard", "launched_by")
    return batches.annotate(n_runs=Count("runs")).order_by("-number")


def cells_of(batch: Batch) -> list[Cell]:
    """Return the runs of a batch with their calls, outcomes and cost."""
    runs = Run.objects.filter(batch=batch).select_related("monitor").order_by("pk")
    cells = {run.pk: Cell(run) for run in runs}
    for cell in cells.values():
        cell.run.batch = batch
    for kept in RunCount.objects.filter(run__batch=batch, number__gt=0):
        cell = cells[kept.run_id]
        if kept.kind == RunCount.Kind.CALL:
            cell.states[kept.name] = kept.number
        elif kept.kind == RunCount.Kind.VERDICT:
            cell.outcomes[kept.name] = kept.number
        elif kept.kind == RunCount.Kind.ERROR:
            cell.errors += kept.number
        else:
            cell.cost = Decimal(kept.number).scaleb(-8)
    return list(cells.values())


def progress_of(batch: Batch) -> Progress:
    """Return how a batch stands."""
    cells = cells_of(batch)
    return Progress(batch=batch, cells=cells, rates=_rates(batch), errors=_errors(batch, cells))


def _errors(batch: Batch, cells: Iterable[Cell]) -> list[Attempt]:
    """Return the newest attempts that failed; without any, the failures of other batches are not gone through."""
    if not any(cell.errors for cell in cells):
        return []
    failed = Attempt.objects.filter(call__run__batch=batch).exclude(error_kind="")
    return list(failed.select_related("call__run__monitor").order_by("-pk")[:SAMPLES])


def _rates(batch: Batch) -> dict[int, float]:
    """Return verdicts per second lately, by monitor; one with fewer than two has no rate, nor a batch at rest."""
    if batch.status != Batch.Status.RUNNING:
        return {}
    now = timezone.now()
    ages: dict[int, list[float]] = defaultdict(list)
    latest = Verdict.objects.filter(run__batch=batch).order_by("-pk")
    for monitor_id, at in latest.values_list("run__monitor_id", "created_at")[:RATE_ROWS]:
        age = (now - at).total_seconds()
        if age <= RATE_SECONDS:
            ages[monitor_id].append(age)
    return {
        monitor: len(found) / max(found)
        for monitor, found in ages.items()
        if len(found) > 1 and max(found) > 0
    }


def plan_content(plan: Plan) -> dict[str, Any]:
    """Return a plan as plain JSON; an unknown cost is null, with its reason beside it."""
    return {
        "study": plan.study.slug,
        "standard": plan.standard.version,
        "not_ready": plan.not_ready,
        "calls": plan.calls,
        "cost": None if plan.cost is None else float(plan.cost),
        "cost_reason": f"no price is known for {', '.join(plan.unpriced)}" if plan.unpriced else None,
        "runs": [
            {
                "monitor": run.monitor.slug,
                "condition": run.condition,
                "traces": run.traces,
                "calls": run.calls,
                "cost": None if run.cost is None else float(run.cost),
                "excluded": dict(sorted(run.excluded.items())),
                "untaken": [vars(one) for one in run.untaken],
                "prompt": None
                if run.prompt is None
                else {"version": run.prompt.version, "sha256": run.prompt.sha256},
            }
            for run in plan.runs
        ],
    }


def batch_content(batch: Batch) -> dict[str, Any]:
    """Return a batch as it stands, as plain JSON."""
    attempts: dict[int, int] = defaultdict(int)
    made = Attempt.objects.filter(call__run__batch=batch).values_list("call__run_id")
    for run_id, number in made.annotate(n=Count("pk")):
        attempts[run_id] = number
    return {
        "study": batch.study.slug,
        "batch": batch.number,
        "standard": batch.standard.version,
        "status": batch.status,
        "status_reason": batch.status_reason,
        "max_cost": None if batch.max_cost is None else float(batch.max_cost),
        "spent": float(batch.spent),
        "runs": [
            {
                "monitor": cell.run.monitor.slug,
                "condition": cell.run.condition,
                "calls": cell.total,
                "done": cell.done,
                "skipped": cell.skipped,
                "attempts": attempts[cell.run.pk],
                "cost": float(cell.cost),
                "outcomes": dict(cell.ordered_outcomes()),
                "excluded": cell.run.settings.get("excluded", {}),
            }
            for cell in cells_of(batch)
        ],
    }


def costs_money(monitors: Iterable[Monitor]) -> bool:
    """Whether a batch of these monitors sends paid requests."""
    return any(not monitor.is_offline for monitor in monitors)


def batch_costs_money(batch: Batch) -> bool:
    """Whether a batch has a run that sends paid requests."""
    return Run.objects.filter(batch=batch, monitor__provider__in=Monitor.ONLINE).exists()
