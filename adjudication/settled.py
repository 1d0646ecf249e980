"""What adjudication tells annotation: which traces are still to be ruled on, and which rulings rest on labels."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import Count, Exists, F, Max, Min, OuterRef, Q, QuerySet

from adjudication import queries
from adjudication.models import Dispute, StandardLabel
from annotation import blindness
from annotation.models import Label, Study, Trace

DIFFERS = (
    Q(right__gt=0, right__lt=F("said"))
    | Q(with_step__gt=0, with_step__lt=F("said"))
    | Q(lowest__lt=F("highest"))
)
ONE_ARM = Q(people=0) | Q(people=F("said"))


def _weighed(study: Study, condition: Q, among: Collection[int] | None = None) -> QuerySet[Trace]:
    """Return the traces whose current labels meet a condition and on which no ruling and no standard rests.

    A standard settles a trace unless a label on it is younger. Whether labels differ is computed from them,
    not from the list of disputes, which may be behind.
    """
    ruled = Dispute.objects.filter(trace=OuterRef("pk"), status=Dispute.Status.DECIDED)
    younger = Label.objects.filter(trace=OuterRef("trace"), created_at__gt=OuterRef("standard__created_at"))
    frozen = StandardLabel.objects.filter(
        ~Exists(younger), trace=OuterRef("pk"), status=StandardLabel.Status.READY
    )
    labels = queries.current_labels(study)
    if among is not None:
        labels = labels.filter(trace__in=among)
    weighed = (
        labels.order_by()
        .values("trace")
        .annotate(
            said=Count("pk"),
            people=Count("pk", filter=Q(arm=Label.Arm.HUMAN)),
            right=Count("pk", filter=Q(final_correct=True)),
            with_step=Count("first_error_step"),
            lowest=Min("first_error_step"),
            highest=Max("first_error_step"),
        )
        .filter(condition)
        .values("trace")
    )
    return Trace.objects.filter(~Exists(ruled), ~Exists(frozen), pk__in=weighed)


def undecided(study: Study) -> QuerySet[Trace]:
    """Return the traces whose labels differ and on which nothing is ruled."""
    return _weighed(study, DIFFERS)


def unsettled(study: Study, among: Collection[int] | None = None) -> QuerySet[Trace]:
    """Return those, and the labelled traces that wait for the other arm and are in no standard yet.

    With `among` only these traces are weighed.
    """
    return _weighed(study, DIFFERS | ONE_ARM, among)


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
