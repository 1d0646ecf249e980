"""Reads of reference standards, their cards, and the roles coded on their critical traces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import TypeVar

from django.db.models import Count, QuerySet

from adjudication.models import CriticalRole, ReferenceStandard, StandardLabel
from annotation.models import Study, Trace

K = TypeVar("K")
FEW = 500  # so many keys fit into one statement on either database


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
    """Return a standard's labels with their traces, in the order of natural keys, without long texts."""
    return (
        standard.labels.select_related("trace__question", "reference_answer")
        .defer("trace__steps", "trace__preamble", "trace__question__statement", "trace__question__rationale")
        .order_by("trace__question__external_id", "trace__response_label")
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

    Labels of either arm alone are counted as one: a card says nothing that tells the arms apart. Counted once:
    a frozen version never changes.
    """
    return _card(*_version(standard))


@lru_cache(maxsize=64)
def _card(pk: int, *_told_apart_by: object) -> Card:
    standard = ReferenceStandard.objects.get(pk=pk)
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


def role_kinds(trace_ids: Collection[int]) -> dict[int, str]:
    """Return the kind of role in force on each of these traces that is coded."""
    coded: dict[int, str] = {}
    keys = sorted(trace_ids)
    for begin in range(0, len(keys), FEW):
        coded |= dict(CODED.filter(trace__in=keys[begin : begin + FEW]).values_list("trace", "kind"))
    return coded


def _version(standard: ReferenceStandard) -> tuple[int, str, datetime]:
    """Return what tells a frozen version from any other that ever had its key."""
    return standard.pk, standard.sha256, standard.created_at


@dataclass(frozen=True)
class CriticalTraces:
    """The critical traces of a standard by token, with the kind of role coded on each (blank: uncoded)."""

    labels: tuple[int, ...]
    kinds: tuple[str, ...]

    def of_kind(self, kind: str | None) -> list[int]:
        """Return the keys of the labels of one kind of role, or of all; `uncoded` for those without."""
        if kind is None:
            return list(self.labels)
        wanted = "" if kind == "uncoded" else kind
        return [pk for pk, coded in zip(self.labels, self.kinds, strict=True) if coded == wanted]

    @property
    def counts(self) -> list[tuple[str, str, int]]:
        """Return (kind, title, critical traces coded so), the uncoded ones last."""
        found = Counter(self.kinds)
        counts = [(value, str(title), found[value]) for value, title in CriticalRole.Kind.choices]
        return [*counts, ("uncoded", "Uncoded", found[""])]


def critical_traces(standard: ReferenceStandard) -> CriticalTraces:
    """Return the critical traces of a standard with their roles; which they are, and in what order, is read once."""
    order = _critical_order(*_version(standard))
    coded = dict(CODED.filter(trace__study=standard.study_id).values_list("trace", "kind"))
    return CriticalTraces(
        labels=tuple(pk for pk, _ in order), kinds=tuple(coded.get(trace, "") for _, trace in order)
    )


@lru_cache(maxsize=16)
def _critical_order(pk: int, *_told_apart_by: object) -> tuple[tuple[int, int], ...]:
    return tuple(critical_labels(ReferenceStandard.objects.get(pk=pk)).values_list("pk", "trace_id"))


def critical_labels_by_key(keys: Sequence[int]) -> list[StandardLabel]:
    """Return labels with their traces and questions, in the order of the keys, without long texts."""
    found = (
        StandardLabel.objects.select_related("trace__question", "reference_answer")
        .defer("trace__steps", "trace__preamble", "trace__question__statement", "trace__question__rationale")
        .in_bulk(list(keys))
    )
    return [found[key] for key in keys if key in found]


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
    return critical_traces(standard).counts


def next_uncoded(standard: ReferenceStandard, *, after: str) -> str | None:
    """Return the token of the uncoded critical trace that follows, going round at the end."""
    tokens = critical_labels(standard, kind="uncoded").values_list("trace__token", flat=True)
    return tokens.filter(trace__token__gt=after).first() or tokens.exclude(trace__token=after).first()
