"""Monitoring's stages in the line of a study, and what waits for its administrators."""

from __future__ import annotations

from collections.abc import Iterable

from django.urls import reverse

from annotation import stages
from annotation.models import Role, Study
from annotation.stages import Stage, StageCount, Task
from core.models import User
from monitoring.models import Batch

ADMINISTRATORS = frozenset({Role.ADMINISTRATOR.value})


def register() -> None:
    """Add the stage of batches, and paused batches to what waits."""
    stages.register(
        Stage(
            key="batches",
            title="Batches",
            order=70,
            count=count_batches,
            url_name="batches",
            linked_for=ADMINISTRATORS,
            nav_title="Batches",
        )
    )
    stages.register_tasks(paused_batches)


def count_batches(study: Study, person: User, roles: frozenset[str]) -> StageCount:
    """Return the number of batches, and how many of them run."""
    states = list(Batch.objects.filter(study=study).values_list("status", flat=True))
    running = states.count(Batch.Status.RUNNING)
    paused = states.count(Batch.Status.PAUSED)
    told = [f"{running} running" if running else "", f"{paused} paused" if paused else ""]
    return StageCount(
        number=len(states) or None,
        note=", ".join(filter(None, told)),
        done=bool(states) and not running and not paused,
        current=bool(running or paused),
    )


def paused_batches(study: Study, person: User, roles: frozenset[str]) -> Iterable[Task]:
    """Return the batches that wait for an administrator."""
    if not roles & ADMINISTRATORS:
        return []
    return [
        Task(
            title=f"Batch {batch.number} is paused",
            detail=batch.status_reason,
            verb="Look",
            url=reverse("batch", args=[study.slug, batch.number]),
            order=70,
        )
        for batch in Batch.objects.filter(study=study, status=Batch.Status.PAUSED).order_by("number")
    ]
