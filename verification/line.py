"""What verification adds to a study's line of stages, to "what waits for me", and to holds on labels."""

from __future__ import annotations

from collections.abc import Iterator

from django.urls import reverse

from annotation import holds, needs, stages
from annotation.models import Role, Study
from core.models import User
from verification import queries
from verification.models import ExpertItem

READERS = frozenset({Role.LEAD.value, Role.ADMINISTRATOR.value})


def count_verification(study: Study, person: User, roles: frozenset[str]) -> stages.StageCount:
    """Count the solutions that wait for an expert or were left open."""
    number = len(queries.unresolved_traces(study))
    if not number and not ExpertItem.objects.filter(study=study).exists():
        return stages.StageCount(None)
    return stages.StageCount(number, note="with the experts", done=number == 0, current=number > 0)


def waiting_items(study: Study, person: User, roles: frozenset[str]) -> Iterator[stages.Task]:
    """Tell a lead of what nobody has taken; disputes wait under their own name."""
    if Role.LEAD.value not in roles:
        return
    number = ExpertItem.objects.filter(study=study, state=ExpertItem.State.WAITING).count()
    number += len(list(queries.undecided(study)))
    if number:
        yield stages.Task(
            title=f"{number} solution{'' if number == 1 else 's'} for an expert",
            detail="what rules and models could not settle",
            verb="Open the queue",
            url=reverse("experts", args=[study.slug]),
            order=55,
        )


def register() -> None:
    """Put verification into the line, and hold the labels of what experts have not settled."""
    stages.register(
        stages.Stage(
            key="verification",
            title="Verification",
            order=55,
            url_name="verification",
            linked_for=READERS,
            shown_to=READERS,
            count=count_verification,
            nav_title="Verification",
        )
    )
    stages.register_tasks(waiting_items)
    holds.register(queries.unresolved_traces)
    needs.register(queries.undecided)
    needs.register(queries.flagged)
