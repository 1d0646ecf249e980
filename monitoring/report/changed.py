"""What is behind a change from one standard to another: the traces that the two label differently."""

from __future__ import annotations

from typing import Any

from django.db.models import Exists, IntegerField, OuterRef, Q, QuerySet
from django.db.models.functions import Cast, Coalesce

from adjudication.models import ReferenceStandard, StandardLabel
from annotation.models import Study
from monitoring.models import Verdict
from monitoring.report.behind import Asked, beside_label, labels_behind, verdicts_behind
from monitoring.report.selection import Selection


def changes_behind(
    study: Study,
    standards: tuple[ReferenceStandard, ReferenceStandard],
    asked: Asked,
    selection: Selection,
) -> QuerySet[Any]:
    """Return what is behind a number under either standard, on the traces whose label differs between the two.

    Verdicts or labels, as asked; the first standard's label is beside each as `former_status` and so on, and the
    second's as `label_status` and so on.
    """
    before, after = standards
    differing = Q(trace_id__in=_differing(before, after)) | Q(trace_id__in=_differing(after, before))
    if asked.of_verdicts:
        either = Q(pk__in=[])
        for standard in standards:
            either |= Q(pk__in=verdicts_behind(study, standard, asked, selection).order_by().values("pk"))
        verdicts = Verdict.objects.filter(differing & either)
        for name, standard in (("former", before), ("label", after)):
            verdicts = beside_label(verdicts, name, standard)
        return verdicts.select_related("trace__question", "run__monitor").order_by(
            "trace__question__external_id", "trace__response_label", "run__condition", "run__monitor__slug"
        )
    either = Q()
    for standard in standards:
        either |= Q(trace_id__in=labels_behind(standard, asked, selection).order_by().values("trace_id"))
    # A trace that the second standard does not hold is there by its label in the first.
    rows = Q(standard=after) | Q(standard=before) & ~Q(trace_id__in=after.labels.values("trace_id"))
    labels = StandardLabel.objects.filter(rows & differing & either)
    for name, standard in (("former", before), ("label", after)):
        labels = beside_label(labels, name, standard)
    return labels.select_related("trace__question").order_by(
        "trace__question__external_id", "trace__response_label"
    )


def _differing(standard: ReferenceStandard, other: ReferenceStandard) -> QuerySet[Any]:
    """Return the traces (keys) whose label in a standard is not the same in the other."""

    def told(labels: QuerySet[StandardLabel]) -> QuerySet[Any]:
        return labels.annotate(
            answer=Coalesce(Cast("final_correct", IntegerField()), -1),
            step=Coalesce("first_error_step", 0),
        )

    same = told(other.labels.all()).filter(
        trace=OuterRef("trace"),
        status=OuterRef("status"),
        answer=OuterRef("answer"),
        step=OuterRef("step"),
    )
    return told(standard.labels.all()).filter(~Exists(same)).values("trace_id")
