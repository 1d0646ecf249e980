"""The counts of runs, as they are kept and as they are counted anew."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal

from monitoring.models import Attempt, Call, RunCount, Verdict

Counts = dict[tuple[int, str, str], int]


def kept() -> Counts:
    """Return what is kept, by run, kind and name; without zeros."""
    rows = RunCount.objects.exclude(number=0).values_list("run_id", "kind", "name", "number")
    return {(run, kind, name): number for run, kind, name, number in rows}


def counted() -> Counts:
    """Return the same from the rows themselves."""
    found: Counter[tuple[int, str, str]] = Counter()
    found.update((run, "call", status) for run, status in Call.objects.values_list("run_id", "status"))
    found.update((run, "verdict", said) for run, said in Verdict.objects.values_list("run_id", "outcome"))
    for run, cost, error in Attempt.objects.values_list("call__run_id", "cost", "error_kind"):
        found[run, "cost", ""] += int(cost * Decimal(10) ** 8)
        found[run, "error", error] += bool(error)
    return dict(+found)
