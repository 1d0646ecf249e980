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
from llm.batches import BATCH_PROVIDERS
from monitoring.engine import waking
from monitoring.engine.bulk import insert_rows
from monitoring.engine.options import PROVIDER_BATCHES, BatchOptions
from monitoring.engine.planning import MOST_UNTAKEN, Plan, PlannedCall, PlannedRun, drafted, eligible
from monitoring.models import Batch, Call, Condition, Monitor, Pace, Run


def launch_batch(
    *,
    study: Study,
    standard: ReferenceStandard,
    monitors: Sequence[Monitor],
    conditions: Sequence[Condition],
    max_cost: Decimal | None,
    actor: User | None,
    options: BatchOptions | None = None,
) -> Batch:
    """Write a batch of these monitors and conditions on a standard, and wake the workers.

    `max_cost` in USD is the most that may be spent, None for no limit. Unsaved built-in monitors are made.
    Raises UserError for a monitor without a price, and when no trace is eligible at all.
    """
    plan = drafted(study=study, standard=standard, monitors=monitors, conditions=conditions, options=options)
    refuse_at_sight(plan, max_cost=max_cost)
    with transaction.atomic():
        # Batches of a study are numbered without gaps: its row is locked while the next number is taken.
        Study.objects.select_for_update().get(pk=study.pk)
        last = Batch.objects.filter(study=study).aggregate(last=Max("number"))["last"] or 0
        batch = Batch.objects.create(
            study=study, standard=standard, number=last + 1, max_cost=max_cost, launched_by=actor
        )
        runs: dict[int, Run] = {}
        # Those that others wait for stand first: they refer to its row.
        for planned in sorted(plan.runs, key=lambda one: one.waits_for is not None):
            runs[id(planned)] = _write_run(batch, planned, runs)
        for planned, calls in eligible(plan):
            run = runs[id(planned)]
            insert_rows(Call, [_row(run, call) for call in calls])
            planned.calls += len(calls)
        refuse_if_unfit(plan, max_cost=max_cost)
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
    """Raise UserError if a plan, its calls counted, must not be launched."""
    refuse_at_sight(plan, max_cost=max_cost)
    if plan.calls == 0:
        reasons = sorted({reason for run in plan.runs for reason in run.excluded})
        raise UserError(
            f"no trace of standard {plan.standard.version} can be run: "
            + ("; ".join(reasons) or "none of its labels is ready")
        )


def refuse_at_sight(plan: Plan, *, max_cost: Decimal | None) -> None:
    """Raise UserError if what a plan costs cannot be held to a budget, or a monitor judged in the debate."""
    if plan.refused_debaters:
        raise UserError(
            f"{', '.join(plan.refused_debaters)} took part in the debate of this study, and would be scored "
            "against labels it helped to make; allow debaters to run it nevertheless, marked"
        )
    unfit = sorted(
        {
            run.monitor.slug
            for run in plan.runs
            if run.settings.get("via") == PROVIDER_BATCHES and run.monitor.provider not in BATCH_PROVIDERS
        }
    )
    if unfit:
        raise UserError(f"{', '.join(unfit)}: only {' and '.join(BATCH_PROVIDERS)} have batches")
    if plan.unpriced:
        raise UserError(
            f"no price is known for {', '.join(plan.unpriced)}; tell its input and output price first, "
            "so that a budget can hold"
        )
    if max_cost is not None and max_cost <= 0:
        raise UserError(f"a budget is more than 0 USD, not {max_cost}")


def _row(run: Run, call: PlannedCall) -> Call:
    return Call(
        run=run,
        trace=call.material.trace,
        step=call.shown.step,
        certificate_source_id=call.source_id,
        status=Call.Status.WAITING if call.waits else Call.Status.PENDING,
    )


def _write_run(batch: Batch, planned: PlannedRun, written: dict[int, Run]) -> Run:
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
        prior_run=written[id(planned.waits_for)] if planned.waits_for else planned.prior_run,
    )


def _complete(run: Run, planned: PlannedRun) -> None:
    run.n_calls = planned.calls
    run.settings = {**run.settings, "excluded": dict(planned.excluded), "traces": planned.traces}
    if planned.untaken:
        run.settings["untaken"] = [vars(one) for one in planned.untaken[:MOST_UNTAKEN]]
    if run.n_calls == 0:
        run.status = Run.Status.FINISHED
        run.finished_at = timezone.now()
    run.save(update_fields=["n_calls", "settings", "status", "finished_at"])
