"""What adjudication tells annotation: which traces are still to be ruled on, and which rulings rest on labels."""

from __future__ import annotations

from django.db.models import Count, Exists, F, Max, Min, OuterRef, Q, QuerySet

from adjudication.models import Dispute, StandardLabel
from annotation import blindness
from annotation.models import Label, Question, Study, Trace

CURRENT = Q(labels__isnull=False, labels__superseded_by__isnull=True)


def _weighed(study: Study) -> QuerySet[Trace]:
    """Return the labelled traces of included questions on which no ruling and no standard rests.

    A standard settles a trace if it is younger than the trace's labels. What `differs` is computed from the
    labels, not from the list of disputes, which may be behind them.
    """
    ruled = Dispute.objects.filter(trace=OuterRef("pk"), status=Dispute.Status.DECIDED)
    frozen = StandardLabel.objects.filter(
        trace=OuterRef("pk"),
        status=StandardLabel.Status.READY,
        standard__created_at__gte=OuterRef("last_label"),
    )
    return (
        Trace.objects.filter(study=study, question__status=Question.Status.INCLUDED)
        .annotate(
            said=Count("labels", filter=CURRENT),
            people=Count("labels", filter=CURRENT & Q(labels__arm=Label.Arm.HUMAN)),
            right=Count("labels", filter=CURRENT & Q(labels__final_correct=True)),
            with_step=Count("labels__first_error_step", filter=CURRENT),
            lowest=Min("labels__first_error_step", filter=CURRENT),
            highest=Max("labels__first_error_step", filter=CURRENT),
            last_label=Max("labels__created_at"),
        )
        .filter(said__gt=0)
        .exclude(Exists(ruled))
        .exclude(Exists(frozen))
    )


DIFFERS = (
    Q(right__gt=0, right__lt=F("said"))
    | Q(with_step__gt=0, with_step__lt=F("said"))
    | Q(lowest__lt=F("highest"))
)
ONE_ARM = Q(people=0) | Q(people=F("said"))


def undecided(study: Study) -> QuerySet[Trace]:
    """Return the traces whose labels differ and on which nothing is ruled."""
    return _weighed(study).filter(DIFFERS)


def unsettled(study: Study) -> QuerySet[Trace]:
    """Return those, and the labelled traces that wait for the other arm and are in no standard yet."""
    return _weighed(study).filter(DIFFERS | ONE_ARM)


def rests_on(trace: Trace) -> bool:
    """Whether a ruling in force rests on the labels of a trace.

    The dispute's row is locked until the caller's transaction ends: a ruling made meanwhile either comes
    first, and is seen here, or waits and then sees the changed labels.
    """
    dispute = (
        Dispute.objects.select_for_update(of=("self",))
        .filter(trace=trace)
        .exclude(status=Dispute.Status.WITHDRAWN)
        .first()
    )
    return dispute is not None and dispute.status == Dispute.Status.DECIDED


def register() -> None:
    """Put adjudication's answers in place."""
    blindness.register(blindness.Rulings(undecided=undecided, unsettled=unsettled, rests_on=rests_on))
