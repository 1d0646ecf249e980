"""The stages of a study that belong to annotation, and what waits for its annotators."""

from __future__ import annotations

from collections.abc import Iterable

from django.urls import reverse

from annotation import queries, stages, training
from annotation.models import Role, Study
from annotation.stages import Stage, StageCount, Task
from core.models import User

OVERSEERS: frozenset[str] = frozenset({Role.LEAD, Role.ADMINISTRATOR})
ADMINISTRATORS: frozenset[str] = frozenset({Role.ADMINISTRATOR})


def _questions(study: Study, person: User, roles: frozenset[str]) -> StageCount:
    size = queries.size(study)
    note = f"{size['excluded']} excluded" if size["excluded"] else ""
    return StageCount(size["included"], note, done=size["included"] > 0)


def _traces(study: Study, person: User, roles: frozenset[str]) -> StageCount:
    size = queries.trace_size(study)
    unread = size["included"] - size["readable"]
    return StageCount(size["included"], f"{unread} without text" if unread else "", done=size["included"] > 0)


def _human(study: Study, person: User, roles: frozenset[str]) -> StageCount:
    size = queries.trace_size(study)
    traces, labelled = size["included"], size["human"]
    return StageCount(
        labelled, f"of {traces} traces", done=traces > 0 and labelled >= traces, current=0 < labelled < traces
    )


def _debate(study: Study, person: User, roles: frozenset[str]) -> StageCount:
    traces, labelled = queries.trace_size(study)["included"], queries.debate_size(study)
    return StageCount(
        labelled, f"of {traces} traces", done=traces > 0 and labelled >= traces, current=0 < labelled < traces
    )


def _human_address(study: Study, roles: frozenset[str]) -> str | None:
    return reverse("queue" if Role.ANNOTATOR in roles else "arm", args=[study.slug])


def traces_waiting(study: Study, person: User, roles: frozenset[str]) -> Iterable[Task]:
    """Say what the person may read next."""
    if Role.ANNOTATOR not in roles or queries.is_paused(study, person):
        return
    if not training.may_read(study, person):
        yield Task(
            "Training to pass first",
            "worked examples, then a few solutions with known judgements",
            "Open the training",
            reverse("training", args=[study.slug]),
            order=10,
        )
        return
    state = queries.progress(study, person)
    address = reverse("queue_next", args=[study.slug])
    if state.left:
        traces = "1 trace" if state.left == 1 else f"{state.left} traces"
        verb = "Go on reading" if state.mine else "Begin reading"
        detail = f"you have read {state.mine or 'none'} so far"
        yield Task(f"{traces} to read", detail, verb, address, order=10, post=True)
    elif state.held_elsewhere and state.free_at:
        yield Task(
            "Every trace is being read",
            f"{state.held_elsewhere} held by others until {state.free_at:%H:%M} UTC",
            "Open the queue",
            reverse("queue", args=[study.slug]),
            order=80,
        )


def keys_waiting(study: Study, person: User, roles: frozenset[str]) -> Iterable[Task]:
    """Tell leads and administrators of keys that annotators find wrong."""
    if not roles & OVERSEERS:
        return
    count = queries.unanswered_key_reports(study)
    if count:
        title = "1 reference answer is reported" if count == 1 else f"{count} reference answers are reported"
        yield Task(
            f"{title} as wrong",
            "an annotator doubts the key, and it has not been corrected since",
            "Read the reports",
            reverse("arm", args=[study.slug]) + "#reports",
            order=30,
        )


def register() -> None:
    """Put annotation's stages and tasks into the registry."""
    stages.register(
        Stage("questions", "Questions", 10, _questions, "questions", OVERSEERS, nav_title="Questions")
    )
    stages.register(Stage("traces", "Traces", 20, _traces, "questions", OVERSEERS))
    stages.register(Stage("human", "Human arm", 30, _human, address=_human_address, nav_title="Reading"))
    stages.register(Stage("debate", "Debate arm", 40, _debate, shown_to=OVERSEERS))
    stages.register(
        Stage(
            "rules",
            "Rules",
            35,
            lambda study, person, roles: StageCount(None),
            "queue_rules",
            ADMINISTRATORS,
            shown_to=frozenset(),
            nav_title="Who reads what",
            on_line=False,
        )
    )
    stages.register(
        Stage(
            "people",
            "People",
            36,
            lambda study, person, roles: StageCount(None),
            "people",
            ADMINISTRATORS,
            shown_to=frozenset(),
            nav_title="People",
            on_line=False,
        )
    )
    stages.register_tasks(traces_waiting)
    stages.register_tasks(keys_waiting)
