"""What a person must not see yet, and what must not be changed any more: rules that adjudication registers.

Annotation cannot know rulings, since it lies below adjudication; so adjudication hands in its answers:

    blindness.register(blindness.Rulings(undecided=..., unsettled=..., rests_on=...))
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation import queries
from annotation.access import roles_in
from annotation.models import Label, Question, Role, Study, Trace
from core.errors import Conflict
from core.models import User


@dataclass(frozen=True)
class Rulings:
    """What adjudication answers.

    `undecided`: traces whose labels differ and on which nothing is ruled. `unsettled`: those, and the
    labelled ones that the other arm may still put in dispute. `rests_on`: whether a ruling in force rests on
    the labels of a trace; it is asked inside a transaction and holds off rulings until that ends.
    """

    undecided: Callable[[Study], QuerySet[Trace]]
    unsettled: Callable[[Study, Collection[int] | None], QuerySet[Trace]]
    rests_on: Callable[[Trace], bool]


def _none(study: Study, among: Collection[int] | None = None) -> QuerySet[Trace]:
    return Trace.objects.none()


_rulings = Rulings(undecided=_none, unsettled=_none, rests_on=lambda trace: False)


def register(rulings: Rulings) -> None:
    """Put adjudication's answers in place."""
    global _rulings  # noqa: PLW0603 - the registry is this one name
    _rulings = rulings


class LabelInUse(Conflict):
    """A ruling rests on this label."""

    def __init__(self) -> None:
        super().__init__(
            "The labels of this solution are in use by now and can no longer be changed here. What you "
            "submitted stands; if it was a slip, tell the lead of the study."
        )


def refuse_revision(trace: Trace) -> None:
    """Raise LabelInUse if a ruling rests on the trace's labels; call it in the revision's transaction.

    A label that changed under a ruling would leave it without its ground; and proposals that changed when a
    ruling is taken back would tell the lead which of them had come from a person.
    """
    if _rulings.rests_on(trace):
        raise LabelInUse


def undecided(study: Study) -> QuerySet[Trace]:
    """Return the traces whose labels differ and on which nothing is ruled."""
    return _rulings.undecided(study)


def unsettled(study: Study, among: Collection[int] | None = None) -> QuerySet[Trace]:
    """Return the labelled traces (of all, or of these) that a lead may still have to rule on."""
    return _rulings.unsettled(study, among)


def hidden_traces(study: Study, person: User) -> QuerySet[Trace]:
    """Return the traces whose labels and comments are to be hidden from a person who looks after the arm.

    From a lead: those that may still come before them. From an annotator: those that they may still be given.
    """
    roles = roles_in(study, person)
    hidden = Q(pk__in=[])
    if Role.LEAD in roles:
        hidden |= Q(pk__in=unsettled(study).values("pk"))
    if Role.ANNOTATOR in roles:
        hidden |= Q(pk__in=queries.open_traces(study, person).values("pk"))
    return Trace.objects.filter(hidden, study=study)


def hidden_questions(study: Study, person: User) -> QuerySet[Question]:
    """Return the questions whose key reports are to be hidden from a person.

    A report is a person's, and tells how they judged: hidden from a lead while any trace of the question is
    unsettled, or has no label yet.
    """
    traces = Trace.objects.filter(study=study)
    hidden = Q(pk__in=traces.filter(pk__in=hidden_traces(study, person).values("pk")).values("question"))
    if Role.LEAD in roles_in(study, person):
        unlabelled = traces.filter(
            ~Exists(Label.objects.filter(trace=OuterRef("pk"))),
            n_steps__isnull=False,
            check_item__isnull=True,
        )
        hidden |= Q(pk__in=unlabelled.values("question"))
    return Question.objects.filter(hidden, study=study, status=Question.Status.INCLUDED)


def hidden_among(study: Study, person: User, questions: Collection[int]) -> set[int]:
    """Return which of these few questions `hidden_questions` would: asked by key, so that no study is read whole."""
    roles = roles_in(study, person)
    traces = Trace.objects.filter(
        study=study, question__in=questions, question__status=Question.Status.INCLUDED
    )
    owners = dict(traces.values_list("pk", "question_id"))
    hidden: set[int] = set()
    if Role.LEAD in roles:
        hidden |= set(unsettled(study, list(owners)).values_list("pk", flat=True))
        unlabelled = traces.filter(n_steps__isnull=False, check_item__isnull=True)
        labelled = Exists(Label.objects.filter(trace=OuterRef("pk")))
        hidden |= set(unlabelled.filter(~labelled).values_list("pk", flat=True))
    if Role.ANNOTATOR in roles:
        open_rows = queries.open_to(study, person).filter(trace__in=list(owners))
        hidden |= set(open_rows.values_list("trace", flat=True))
    return {owners[key] for key in hidden}


def why_not_all_labels(study: Study, person: User) -> list[str]:
    """Return why this person must not read everybody's labels now; nothing if they may.

    Blindness belongs to the task: an administrator who also decides, or also annotates, waits until that work
    is done.
    """
    roles = roles_in(study, person)
    reasons = []
    if Role.LEAD in roles:
        waiting, open_still = undecided(study).count(), unsettled(study).count()
        if waiting:
            reasons.append(
                f"You are lead of this study too, and {_traces(waiting)} for a decision: until it is made you "
                "must not know who said what."
            )
        elif open_still:
            reasons.append(
                f"You are lead of this study too, and {_traces(open_still, 'has', 'have')} labels of one arm "
                "only: the other arm may still put them in dispute. Once a standard is frozen on them, you may."
            )
    if Role.ANNOTATOR in roles:
        left = queries.open_traces(study, person).count()
        if left:
            reasons.append(
                f"You annotate in this study too, and {_traces(left, 'is', 'are')} still open to you: until "
                "you have read them you must not see what others said."
            )
    return reasons


def _traces(number: int, one: str = "waits", more: str = "wait") -> str:
    return f"1 trace {one}" if number == 1 else f"{number} traces {more}"
