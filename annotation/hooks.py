"""What higher apps want to hear of: a registry of functions that are called when labels changed.

An app registers in its AppConfig.ready():

    from annotation import hooks
    hooks.on_labels_changed(follow_labels)

A function takes (study, question, actor) and runs inside the transaction of the change, so that what follows
from a label stands or falls with it. `question` is the one whose labels changed, or None when many may have.
It may return a function that says so in the audit trail, whose head is locked last.
"""

from __future__ import annotations

from collections.abc import Callable

from annotation.models import Question, Study
from core.models import User

Record = Callable[[], object]
LabelsChanged = Callable[[Study, Question | None, User | None], Record | None]

_listeners: list[LabelsChanged] = []


def on_labels_changed(function: LabelsChanged) -> None:
    """Call the function after every change of labels; registering it again changes nothing."""
    if function not in _listeners:
        _listeners.append(function)


def labels_changed(*, study: Study, question: Question | None = None, actor: User | None = None) -> None:
    """Tell the registered functions, and record what followed; call it in the transaction of the change."""
    for record in follow(study=study, question=question, actor=actor):
        record()


def follow(*, study: Study, question: Question | None = None, actor: User | None = None) -> list[Record]:
    """Tell the registered functions; return what records what followed, for the end of the transaction."""
    records = [function(study, question, actor) for function in _listeners]
    return [record for record in records if record is not None]
