"""Celery tasks: thin, harmless when delivered twice, since claims decide who does what."""

from __future__ import annotations

import mmap
from decimal import Decimal
from typing import Any

from celery import shared_task, signals
from django.db import connection

from annotation.access import study_named
from annotation.models import Study
from core.models import User
from monitoring.concerns.raising import raise_concerns, traces_to_read
from monitoring.debate.arm import Debaters, run_debate, traces_to_debate
from monitoring.engine import heartbeat, identity, provider_batches, sweeper, waking, worker
from monitoring.engine.planning import monitors_named
from monitoring.generation import generate_traces
from monitoring.retention import remove_replies

# One byte shared by a worker and the pool processes forked from it: set once the worker is told to stop.
_stopping = mmap.mmap(-1, 1)
_pulses: list[heartbeat.Pulse] = []


def told_to_stop() -> bool:
    """Whether this worker was told to stop: then it takes no more work and gives back what it cannot end."""
    return _stopping[0] == 1


# Acknowledged when it starts, unlike other tasks: a driver outlives any visibility timeout, and if it dies
# the sweeper wakes another, since the database says what is left to do.
@shared_task(name=waking.DRIVE, acks_late=False, time_limit=3600)
def drive_batch(batch_id: int) -> None:
    """Work on a batch for a while; hand on what is left."""
    sweeper.return_lost_calls()
    if worker.drive(batch_id=batch_id, owner=identity.owner(), stop=told_to_stop) == "more":
        waking.send(batch_id)


@shared_task(name=waking.CHUNKS, acks_late=False, time_limit=3600)
def step_provider_batches(batch_id: int) -> None:
    """Hand in, poll and settle what a batch has with providers' batch APIs."""
    provider_batches.step(batch_id)


@shared_task(name="monitoring.tasks.sweep", acks_late=False, time_limit=300)
def sweep() -> None:
    """Return what dead workers held, end what is complete, wake workers where work waits."""
    sweeper.sweep()


# Acknowledged when it starts: whoever is killed in it runs the command again, which goes on where it stopped.
@shared_task(name="monitoring.tasks.debate", acks_late=False)
def debate(
    slug: str, names: dict[str, str], keys: list[str] | None, max_cost: str | None, actor: int | None = None
) -> None:
    """Run the debate arm."""
    study = study_named(slug)
    speakers = {role: monitors_named(study, [name])[0] for role, name in names.items()}
    run_debate(
        study=study,
        debaters=Debaters(**speakers),
        traces=traces_to_debate(study, keys),
        max_cost=None if max_cost is None else Decimal(max_cost),
        actor=None if actor is None else User.objects.filter(pk=actor).first(),
    )


@shared_task(name="monitoring.tasks.generate", acks_late=False)
def generate(slug: str, names: list[str], max_cost: str | None, actor: int | None = None) -> None:
    """Generate traces."""
    study = study_named(slug)
    generate_traces(
        study=study,
        monitors=monitors_named(study, names),
        max_cost=None if max_cost is None else Decimal(max_cost),
        actor=None if actor is None else User.objects.filter(pk=actor).first(),
    )


@shared_task(name="monitoring.tasks.concerns", acks_late=False)
def concerns(
    slug: str,
    names: list[str],
    keys: list[str] | None,
    max_cost: str | None,
    actor_id: int | None = None,
) -> None:
    """Have models point at concerns in traces."""
    study = study_named(slug)
    raise_concerns(
        study=study,
        monitors=monitors_named(study, names),
        traces=traces_to_read(study, keys),
        max_cost=None if max_cost is None else Decimal(max_cost),
        actor=None if actor_id is None else User.objects.filter(pk=actor_id).first(),
    )


@shared_task(name="monitoring.tasks.remove_replies")
def remove_old_replies() -> None:
    """Remove the replies that are older than their study's retention rule."""
    for study in Study.objects.filter(keep_replies_days__isnull=False).order_by("pk"):
        remove_replies(study=study, actor=None)


@signals.worker_ready.connect
def _on_ready(**_: Any) -> None:
    _stopping[0] = 0
    _pulses.append(heartbeat.Pulse())
    _pulses[-1].start()
    try:
        sweeper.sweep()
    finally:
        connection.close()  # pool processes forked later must not inherit it


@signals.worker_shutting_down.connect
def _on_stopping(**_: Any) -> None:
    _stopping[0] = 1


@signals.worker_shutdown.connect
def _on_stopped(**_: Any) -> None:
    while _pulses:
        _pulses.pop().stop()
