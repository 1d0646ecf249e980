"""Reads of what models were asked about traces."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Count, Q, Sum

from annotation.models import Study
from monitoring.models import Inquiry, Monitor
from verification.models import Flag


@dataclass(frozen=True)
class Asked:
    """What one model was asked: requests by how they ended, and their cost in USD."""

    model: str
    answered: int
    failed: int
    under_way: int
    cost: Decimal


def askable(study: Study) -> list[Monitor]:
    """Return the study's models that can be asked: online or scripted."""
    able = [*Monitor.ONLINE, Monitor.Provider.SCRIPTED]
    return list(Monitor.objects.filter(study=study, provider__in=able).order_by("slug"))


def asked_in(study: Study) -> list[Asked]:
    """Return what each model was asked for concerns."""
    ended = Q(finished_at__isnull=False)
    rows = (
        Inquiry.objects.filter(study=study, kind=Inquiry.Kind.CONCERNS)
        .order_by()
        .values("model")
        .annotate(
            answered=Count("pk", filter=ended & Q(error_kind="")),
            failed=Count("pk", filter=ended & ~Q(error_kind="")),
            under_way=Count("pk", filter=~ended),
            total=Sum("cost"),
        )
    )
    found = [
        Asked(row["model"], row["answered"], row["failed"], row["under_way"], row["total"] or Decimal(0))
        for row in rows
    ]
    return sorted(found, key=lambda one: one.model)


def flag_counts(study: Study) -> tuple[int, int]:
    """Return the number of flags in a study, and of traces that bear any."""
    found = Flag.objects.filter(trace__study=study).aggregate(
        flags=Count("pk"), traces=Count("trace", distinct=True)
    )
    return found["flags"], found["traces"]
