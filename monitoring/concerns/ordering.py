"""Ordering concerns from a worker."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from celery import current_app
from django.db import transaction

from annotation.models import Study
from core import audit
from core.models import User
from monitoring.concerns.raising import refuse_unfit, traces_to_read
from monitoring.engine.planning import monitors_named

TASK = "monitoring.tasks.concerns"


def order_concerns(
    *,
    study: Study,
    names: Sequence[str],
    keys: Sequence[str] | None,
    max_cost: Decimal | None,
    actor: User | None,
) -> int:
    """Wake a worker to ask these models about traces (all, or QID/LABEL of `keys`); return how many traces.

    Ordering again is harmless: what is answered is not paid for twice. Raises UserError for a model that is not
    fit, or an unknown trace.
    """
    refuse_unfit(study, monitors_named(study, names))
    number = len(traces_to_read(study, keys))
    cost = None if max_cost is None else str(max_cost)
    with transaction.atomic():
        audit.record(
            scope=study.slug,
            actor=actor,
            action="concerns ordered",
            subject=study.slug,
            payload={
                "monitors": list(names),
                "traces": None if keys is None else list(keys),
                "max_cost": cost,
            },
        )
        arguments = [
            study.slug,
            list(names),
            None if keys is None else list(keys),
            cost,
            actor.pk if actor else None,
        ]
        transaction.on_commit(lambda: current_app.send_task(TASK, args=arguments))
    return number
