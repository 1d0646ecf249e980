"""Ordering a debate or traces: checked here, done by a worker, which goes on where an earlier order stopped."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from celery import current_app
from django.db import transaction
from kombu.exceptions import OperationalError

from annotation.models import Study
from core import audit
from core.errors import UserError
from core.models import User
from monitoring.engine.planning import monitors_named
from monitoring.models import Monitor

log = logging.getLogger(__name__)

DEBATE = "monitoring.tasks.debate"
GENERATE = "monitoring.tasks.generate"


def order_debate(*, study: Study, names: Mapping[str, str], max_cost: Decimal, actor: User) -> None:
    """Have a worker debate the traces that have no consensus; `names`: first, second, judge by slug.

    `max_cost` in USD is the most that this order may spend. Raises UserError for a model that cannot be asked.
    """
    speakers = {role: _askable(study, slug) for role, slug in names.items()}
    if speakers["first"].model == speakers["second"].model:
        raise UserError("a debate is between two models; choose another as the second")
    models = {role: speaker.model for role, speaker in speakers.items()}
    _order(study, actor, "debate ordered", {"models": models, "max_cost": str(max_cost)})
    _send(DEBATE, [study.slug, dict(names), None, str(max_cost), actor.pk])


def order_generation(*, study: Study, names: Sequence[str], max_cost: Decimal, actor: User) -> None:
    """Have a worker ask each of these monitors for the solutions that the study lacks of it.

    `max_cost` in USD is the most that this order may spend. Raises UserError for a model that cannot be asked.
    """
    models = [_askable(study, slug).model for slug in names]
    _order(study, actor, "traces ordered", {"models": models, "max_cost": str(max_cost)})
    _send(GENERATE, [study.slug, list(names), str(max_cost), actor.pk])


def _askable(study: Study, slug: str) -> Monitor:
    monitor = monitors_named(study, [slug])[0]
    if monitor.is_offline and monitor.provider != Monitor.Provider.SCRIPTED:
        raise UserError(f"{slug} is not a model that can be asked")
    if not monitor.has_price:
        raise UserError(f"no price is known for {slug}; tell its input and output price first")
    return monitor


def _order(study: Study, actor: User, action: str, payload: dict[str, Any]) -> None:
    with transaction.atomic():
        audit.record(scope=study.slug, actor=actor, action=action, subject=study.slug, payload=payload)


def _send(task: str, arguments: list[Any]) -> None:
    try:
        current_app.send_task(task, args=arguments)
    except (OperationalError, OSError) as error:
        log.warning("%s: no broker (%s)", task, error)
        raise UserError("no worker can be reached now; nothing was sent, order it again later") from error
