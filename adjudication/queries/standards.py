"""Reads of reference standards, their cards, and the roles coded on their critical traces."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TypeVar

from django.db.models import Count, QuerySet

from adjudication.models import CriticalRole, ReferenceStandard, StandardLabel
from annotation.models import Study, Trace

K = TypeVar("K")


def standards_of(study: Study) -> QuerySet[ReferenceStandard]:
    """Return the study's standards, newest first."""
    return study.standards.select_related("parent", "frozen_by", "guideline").order_by("-version")


def is_large(study: Study, many: int) -> bool:
    """Whether a study has more traces than so many; reads no further than that."""
    return Trace.objects.filter(study=study).order_by()[many : many + 1].exists()


def latest_standard(study: Study) -> ReferenceStandard | None:
    """Return the newest standard, if one was frozen."""
    return standards_of(study).first()


def labels_of(standard: ReferenceStandard) -> QuerySet[StandardLabel]:
    """Return a standard's labels with their traces, in the order of natural keys."""
    return standard.labels.select_related("trace__question", "reference_answer").order_by(
        "trace__question__external_id", "trace__response_label"
    )


@dataclass(frozen=True)
class Card:
    """The numbers on a standard's card: counts of traces."""

    traces: int
    ready: int
    questions: int
    cells: dict[str, int]
    provenance: dict[str, int]
    not_ready: list[tuple[str, str, int]]
    second_look: int


ONE_ARM_ONLY = "one_arm_only"
ONE_ARM = frozenset({"human_only", "debate_only"})


def card_of(standard: ReferenceStandard) -> Card:
    """Count a standard's labels by status, cell and provenance (of the ready ones).

    Labels of either arm alone are counted as one: a card says nothing that tells the arms apart.
    """
    rows = [
        _Count(*row)
        for row in standard.labels.order_by()
        .values_list("status", "status_reason", "provenance", "final_correct")
        .annotate(total=Count("id"), errors=Count("first_error_step"))
    ]
    ready = [row for row in rows if row.status == StandardLabel.Status.READY]
    others = [row for row in rows if row.status != StandardLabel.Status.READY]
    questions = standard.labels.filter(status=StandardLabel.Status.READY).aggregate(
        n=Count("trace__question", distinct=True)
    )["n"]
    reasons = _sums(((row.status, row.reason), row.total) for row in others)
    return Card(
        traces=sum(row.total for row in rows),
        ready=sum(row.total for row in ready),
        questions=questions,
        cells={
            "clean": sum(row.total - row.errors for row in ready),
            "wrong": sum(row.errors for row in ready if not row.final_correct),
            "critical": sum(row.errors for row in ready if row.final_correct),
        },
        provenance=_sums(
            (ONE_ARM_ONLY if row.provenance in ONE_ARM else row.provenance, row.total) for row in ready
        ),
        not_ready=sorted((status, reason, total) for (status, reason), total in reasons.items()),
        second_look=sum(row.total - row.errors for row in ready if not row.final_correct),
    )


@dataclass(frozen=True)
class _Count:
    status: str
    reason: str
    provenance: str
    final_correct: bool | None
    total: int
    errors: int


def _sums(pairs: Iterable[tuple[K, int]]) -> dict[K, int]:
    sums: dict[K, int] = {}
    for key, number in pairs:
        sums[key] = sums.get(key, 0) + number
    return sums


CODED = CriticalRole.objects.filter(superseded_by__isnull=True).exclude(kind="")


def role_of(trace: Trace) -> CriticalRole | None:
    """Return the coding in force, a taken-back one included (its kind is blank)."""
    return CriticalRole.objects.filter(trace=trace, superseded_by__isnull=True).first()


def roles_of(trace_ids: Collection[int]) -> dict[int, CriticalRole]:
    """Return the roles in force by trace id."""
    return {role.trace_id: role for role in CODED.filter(trace__in=trace_ids).select_related("coded_by")}


def critical_labels(standard: ReferenceStandard, *, kind: str | None = None) -> QuerySet[StandardLabel]:
    """Return the critical labels of a standard by token; of one kind of role, or `uncoded`."""
    labels = standard.labels.filter(
        status=StandardLabel.Status.READY, final_correct=True, first_error_step__isnull=False
    )
    if kind == "uncoded":
        labels = labels.exclude(trace__in=CODED.values("trace"))
    elif kind:
        labels = labels.filter(trace__in=CODED.filter(kind=kind).values("trace"))
    return labels.select_related("trace__question", "reference_answer").order_by("trace__token")


def role_counts(standard: ReferenceStandard) -> list[tuple[str, str, int]]:
    """Return (kind, title, critical traces coded so), the uncoded ones last."""
    critical = critical_labels(standard)
    found = dict(
        CODED.filter(trace__in=critical.order_by().values("trace"))
        .values_list("kind")
        .annotate(total=Count("pk"))
        .order_by()
    )
    counts = [(value, str(title), found.get(value, 0)) for value, title in CriticalRole.Kind.choices]
    return [*counts, ("uncoded", "Uncoded", critical.count() - sum(found.values()))]


def next_uncoded(standard: ReferenceStandard, *, after: str) -> str | None:
    """Return the token of the uncoded critical trace that follows, going round at the end."""
    tokens = critical_labels(standard, kind="uncoded").values_list("trace__token", flat=True)
    return tokens.filter(trace__token__gt=after).first() or tokens.exclude(trace__token=after).first()
