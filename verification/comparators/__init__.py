"""Comparators of answers: each says equal, different or undecided, and why; no Django in here."""

from verification.comparators.outcome import BadComparator, Comparator, Comparison, Verdict
from verification.comparators.registry import comparator_of

__all__ = ["BadComparator", "Comparator", "Comparison", "Verdict", "comparator_of"]
