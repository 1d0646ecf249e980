"""The matrix of a batch, monitors down and conditions across: as planned, and as it fills up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from django.urls import reverse

from monitoring import words
from monitoring.engine.options import PROVIDER_BATCHES
from monitoring.engine.planning import Plan, PlannedRun
from monitoring.models import Condition, Run, Verdict
from monitoring.queries import Cell, Progress

C = TypeVar("C")

# What fills a cell's bar, in order: outcomes that count, one that contradicts itself, failures.
_CLASSES = {Verdict.Outcome.OK: "is-ok", Verdict.Outcome.INCONSISTENT: "is-left-out"}


@dataclass(frozen=True)
class PlanCell:
    """A planned run, in words."""

    traces: int
    calls: int
    cost: str
    excluded: list[tuple[str, int]]
    untaken: list[str]


@dataclass(frozen=True)
class Segment:
    """A part of a bar of length 100."""

    css: str
    x: str
    width: str


@dataclass(frozen=True)
class ProgressCell:
    """A run as it stands, in words and as a bar."""

    url: str
    done: int
    total: int
    in_flight: int
    outcomes: list[tuple[str, int]]
    excluded: list[tuple[str, int]]
    skipped: int
    settings: list[str]
    cost: str
    bar: list[Segment]
    summary: str


@dataclass(frozen=True)
class Matrix(Generic[C]):
    """Rows of (monitor's slug, cells in the order of `conditions`; None where there is no run)."""

    conditions: list[str]
    rows: list[tuple[str, list[C | None]]]
    calls: int
    cost: str


def plan_matrix(plan: Plan) -> Matrix[PlanCell]:
    """Return the matrix of a plan."""
    conditions = [name for name in Condition.values if any(run.condition == name for run in plan.runs)]
    cells: dict[str, dict[str, PlanCell]] = {}
    for run in plan.runs:
        cells.setdefault(run.monitor.slug, {})[run.condition] = PlanCell(
            traces=run.traces,
            calls=run.calls,
            cost=_planned_cost(run),
            excluded=sorted(run.excluded.items()),
            untaken=[f"{one.question_id}/{one.response_label}" for one in run.untaken],
        )
    return Matrix(
        conditions=conditions,
        rows=[(slug, [row.get(name) for name in conditions]) for slug, row in cells.items()],
        calls=plan.calls,
        cost="not known" if plan.cost is None else words.usd(plan.cost),
    )


def _planned_cost(run: PlannedRun) -> str:
    if run.cost is None:
        return "price not known"
    return "free" if run.monitor.is_offline else f"at most {words.usd(run.cost)}"


def progress_matrix(progress: Progress) -> Matrix[ProgressCell]:
    """Return the matrix of a batch as it stands."""
    present = {cell.run.condition for cell in progress.cells}
    conditions = [name for name in Condition.values if name in present]
    return Matrix(
        conditions=conditions,
        rows=[
            (monitor.slug, [_cell(row[name]) if name in row else None for name in conditions])
            for monitor, row in progress.by_monitor()
        ],
        calls=progress.total,
        cost=words.usd(progress.batch.spent),
    )


def _cell(cell: Cell) -> ProgressCell:
    outcomes = cell.ordered_outcomes()
    told = [f"{number} {name.replace('_', ' ')}" for name, number in outcomes]
    run, batch = cell.run, cell.run.batch
    return ProgressCell(
        url=reverse("run", args=[batch.study.slug, batch.number, run.monitor.slug, run.condition]),
        done=cell.done,
        total=cell.total,
        in_flight=cell.in_flight,
        outcomes=[(name.replace("_", " "), number) for name, number in outcomes],
        excluded=sorted(cell.run.settings.get("excluded", {}).items()),
        skipped=cell.skipped,
        settings=_settings(cell.run),
        cost=words.usd(cell.cost) if cell.cost else "",
        bar=_bar(outcomes, sum(cell.outcomes.values()) + cell.total - cell.done),
        summary=f"{cell.done} of {cell.total} done" + (f": {', '.join(told)}" if told else ""),
    )


def _settings(run: Run) -> list[str]:
    """Return, in words, the settings that a condition leaves open."""
    told = []
    if run.settings.get("step_prefixes") == "first_flag":
        told.append("up to the first flag")
    if run.settings.get("rctrl_traces") == "all":
        told.append("on all traces")
    if run.settings.get("via") == PROVIDER_BATCHES:
        told.append("through the provider's batch API")
    if run.settings.get("judged_in_debate"):
        told.append("took part in the debate")
    if retries := run.settings.get("invalid_retries"):
        told.append(f"{retries} more tries after a reply without a verdict")
    if batch := run.settings.get("prior_batch"):
        told.append(f"goes on from batch {batch}")
    return told


def _bar(outcomes: list[tuple[str, int]], total: int) -> list[Segment]:
    segments, x = [], 0.0
    for name, number in outcomes:
        width = 100 * number / total if total else 0.0
        css = _CLASSES.get(Verdict.Outcome(name), "is-failed")
        segments.append(Segment(css, f"{x:.3f}", f"{width:.3f}"))
        x += width
    segments.append(Segment("is-pending", f"{x:.3f}", f"{max(100 - x, 0):.3f}"))
    return segments
