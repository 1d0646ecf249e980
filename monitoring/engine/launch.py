"""Launching: a batch with its runs and calls is written in one transaction, then workers are woken."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from adjudication.models import ReferenceStandard
from annotation.models import Study
from core import audit
from core.errors import UserError
from core.models import User
from monitoring.engine import waking
from monitoring.engine.planning import Plan, PlannedRun, eligible, plan_batch
from monitoring.models import Batch, Call, Condition, Monitor, Pace, Run


def launch_batch(
    *,
    study: Study,
    standard: ReferenceStandard,
    monitors: Sequence[Monitor],
    conditions: Sequence[Condition],
    max_cost: Decimal | None,
    actor: User | None,
) -> Batch:
    """Write a batch of these monitors and conditions on a standard, and wake the workers.

    `max_cost` in USD is the most that may be spent, None for no limit. Unsaved built-in monitors are made.
    Raises UserError for a monitor without a price, and when no trace is eligible at all.
    """
    plan = plan_batch(
        study=study, standard=standard, monitors=monitors, conditions=conditions, with_cost=False
    )
    refuse_if_unfit(plan, max_cost=max_cost)
    with transaction.atomic():
        # Batches of a study are numbered without gaps: its row is locked while the next number is taken.
        Study.objects.select_for_update().get(pk=study.pk)
        last = Batch.objects.filter(study=study).aggregate(last=Max("number"))["last"] or 0
        batch = Batch.objects.create(
            study=study, standard=standard, number=last + 1, max_cost=max_cost, launched_by=actor
        )
        runs = {id(planned): _write_run(batch, planned) for planned in plan.runs}
        for planned, chunk in eligible(plan):
            run = runs[id(planned)]
            Call.objects.bulk_create([Call(run=run, trace=material.trace) for material in chunk])
            run.n_calls += len(chunk)
        for planned in plan.runs:
            _complete(runs[id(planned)], planned)
        audit.record(
            scope=study.slug,
            actor=actor,
            action="batch launched",
            subject=f"batch {batch.number}",
            payload={
                "standard": standard.version,
                "monitors": [monitor.slug for monitor in monitors],
                "conditions": list(conditions),
                "calls": sum(run.n_calls for run in runs.values()),
                "max_cost": None if max_cost is None else str(max_cost),
            },
        )
        waking.wake(batch.pk, drivers=2)
    return batch


def refuse_if_unfit(plan: Plan, *, max_cost: Decimal | None) -> None:
    """Raise UserError if a plan must not be launched."""
    if plan.unpriced:
        raise UserError(
            f"no price is known for {', '.join(plan.unpriced)}; tell its input and output price first, "
            "so that a budget can hold"
        )
    if max_cost is not None and max_cost <= 0:
        raise UserError(f"a budget is more than 0 USD, not {max_cost}")
    if plan.calls == 0:
        reasons = sorted({reason for run in plan.runs for reason in run.excluded})
        raise UserError(
            f"no trace of standard {plan.standard.version} can be run: "
            + ("; ".join(reasons) or "none of its labels is ready")
        )


def _write_run(batch: Batch, planned: PlannedRun) -> Run:
    if planned.monitor.pk is None:
        # The same built-in monitor stands in one plan once per condition: made once, shared by its rows.
        planned.monitor = Monitor.objects.get_or_create(
            study=batch.study, slug=planned.monitor.slug, defaults={"provider": planned.monitor.provider}
        )[0]
    Pace.objects.get_or_create(monitor=planned.monitor)
    return Run.objects.create(
        batch=batch,
        monitor=planned.monitor,
        condition=planned.condition,
        prompt_version=planned.prompt.version if planned.prompt else "",
        prompt_sha256=planned.prompt.sha256 if planned.prompt else "",
        settings=planned.settings,
    )


def _complete(run: Run, planned: PlannedRun) -> None:
    run.settings = {**run.settings, "excluded": dict(planned.excluded)}
    if run.n_calls == 0:
        run.status = Run.Status.FINISHED
        run.finished_at = timezone.now()
    run.save(update_fields=["n_calls", "settings", "status", "finished_at"])
