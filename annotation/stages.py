"""The line of a study's stages and the list of what waits for a person: a registry that higher apps fill.

An app registers in its AppConfig.ready():

    from annotation import stages
    stages.register(stages.Stage(key="disputes", title="Disputes", order=50, url_name="disputes",
                                 linked_for=frozenset({Role.LEAD}), count=count_disputes))
    stages.register_tasks(disputes_waiting)

`url_name` is reversed with the study's slug; `address` instead may choose by role.
`count(study, person, roles)` returns a StageCount in one or two queries. A tasks function takes
(study, person, roles) too and returns the entries of "what waits for me".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from django.urls import NoReverseMatch, reverse

from annotation.models import Role, Study
from core.models import User

EVERY_ROLE: frozenset[str] = frozenset(Role.values)


@dataclass(frozen=True)
class StageCount:
    """What a stage shows: a number (None: not begun), a few words, and whether it is done or in hand."""

    number: int | None
    note: str = ""
    done: bool = False
    current: bool = False


@dataclass(frozen=True)
class Task:
    """One entry of "what waits for me": title, words on it, a verb where it leads (POST if it changes)."""

    title: str
    detail: str
    verb: str
    url: str
    order: int = 100
    post: bool = False


CountFunction = Callable[[Study, User, frozenset[str]], StageCount]
TasksFunction = Callable[[Study, User, frozenset[str]], Iterable[Task]]


@dataclass(frozen=True)
class Stage:
    """One stage: `linked_for` are the roles that may open it, `shown_to` those that see its count.

    A stage with a `nav_title` also stands in the navigation of the study's pages; one that is not `on_line`
    stands only there.
    """

    key: str
    title: str
    order: int
    count: CountFunction
    url_name: str | None = None
    linked_for: frozenset[str] = EVERY_ROLE
    shown_to: frozenset[str] = EVERY_ROLE
    nav_title: str = ""
    address: Callable[[Study, frozenset[str]], str | None] | None = None
    on_line: bool = True

    def url(self, study: Study, roles: frozenset[str]) -> str | None:
        """Return the stage's address for a person with these roles, None where there is nothing to open."""
        if self.address is not None:
            return self.address(study, roles) if self.linked_for & roles else None
        if self.url_name is None or not self.linked_for & roles:
            return None
        try:
            return reverse(self.url_name, args=[study.slug])
        except NoReverseMatch:
            return None


@dataclass(frozen=True)
class StageLine:
    """A stage with its count and address, ready to be shown."""

    stage: Stage
    count: StageCount | None
    url: str | None


_stages: dict[str, Stage] = {}
_tasks: list[TasksFunction] = []


def register(stage: Stage) -> None:
    """Add a stage; registering a key again replaces it, so that ready() may run twice."""
    _stages[stage.key] = stage


def register_tasks(function: TasksFunction) -> None:
    """Add a source of "what waits for me"."""
    if function not in _tasks:
        _tasks.append(function)


def stages() -> list[Stage]:
    """Return the registered stages in their order."""
    return sorted(_stages.values(), key=lambda stage: stage.order)


def line(study: Study, person: User, roles: frozenset[str]) -> list[StageLine]:
    """Return the study's line of stages as this person may see it."""
    return [
        StageLine(
            stage,
            stage.count(study, person, roles) if stage.shown_to & roles else None,
            stage.url(study, roles),
        )
        for stage in stages()
        if stage.on_line
    ]


def waiting(study: Study, person: User, roles: frozenset[str]) -> list[Task]:
    """Return what waits for this person in the study, in order."""
    found = [task for function in _tasks for task in function(study, person, roles)]
    return sorted(found, key=lambda task: task.order)
