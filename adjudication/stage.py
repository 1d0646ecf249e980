"""What adjudication adds to a study's line of stages and to "what waits for me"."""

from __future__ import annotations

from collections.abc import Iterator

from django.urls import reverse

from adjudication import queries
from annotation import stages
from annotation.models import Role, Study
from core.models import User

# The number of disputes moves when a label comes in: shown to an annotator, it would say whether one's own
# label differs from the others.
WATCHERS = frozenset({Role.LEAD.value, Role.ADMINISTRATOR.value})


def count_disputes(study: Study, person: User, roles: frozenset[str]) -> stages.StageCount:
    """Count the disputes that wait and those that are decided."""
    counts = queries.dispute_counts(study)
    ready, awaiting, decided = (counts[state]["all"] for state in ("open", "waiting", "decided"))
    if not ready and not awaiting and not decided:
        return stages.StageCount(None)
    waiting = ready + awaiting
    parts = ["open", f"{awaiting} of them wait for labels" if awaiting else "", f"{decided} decided"]
    note = ", ".join(part for part in parts if part)
    return stages.StageCount(waiting, note=note, done=waiting == 0, current=waiting > 0)


def count_standards(study: Study, person: User, roles: frozenset[str]) -> stages.StageCount:
    """Show the newest version."""
    newest = queries.latest_standard(study)
    if newest is None:
        return stages.StageCount(None, note="nothing frozen")
    return stages.StageCount(newest.version, note="newest version", done=True)


def waiting_disputes(study: Study, person: User, roles: frozenset[str]) -> Iterator[stages.Task]:
    """Tell a lead of the open disputes."""
    if Role.LEAD.value not in roles:
        return
    number = queries.dispute_counts(study)["open"]["all"]
    if number:
        yield stages.Task(
            title=f"{number} dispute{'' if number == 1 else 's'} to settle",
            detail="solutions whose labels differ, shown without their sources",
            verb="Settle them",
            url=reverse("disputes", args=[study.slug]),
            order=50,
        )


def register() -> None:
    """Put the stages of adjudication into the line."""
    stages.register(
        stages.Stage(
            key="disputes",
            title="Disputes",
            order=50,
            url_name="disputes",
            linked_for=frozenset({Role.LEAD.value}),
            shown_to=WATCHERS,
            count=count_disputes,
            nav_title="Disputes",
        )
    )
    stages.register(
        stages.Stage(
            key="standard",
            title="Standard",
            order=60,
            url_name="standards",
            linked_for=WATCHERS,
            count=count_standards,
            nav_title="Standards",
        )
    )
    stages.register_tasks(waiting_disputes)
