"""How a figure is taken: repeated, the median told, peak memory beside it."""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One line of the bench: what was measured, how long (seconds), and what that means."""

    name: str
    seconds: float
    note: str = ""

    def __str__(self) -> str:
        return f"{self.name:<58} {1000 * self.seconds:>10.1f} ms   {self.note}"


def median(work: Callable[[], object], *, repeats: int = 5) -> float:
    """Return the median wall time in seconds of `repeats` runs, after one that warms up."""
    work()
    times = []
    for _ in range(repeats):
        begun = time.perf_counter()
        work()
        times.append(time.perf_counter() - begun)
    return statistics.median(times)


def once(work: Callable[[], object]) -> float:
    """Return the wall time in seconds of one run."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def peak_mb() -> float:
    """Return the process's peak memory so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
