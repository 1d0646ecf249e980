"""Offline monitors: baselines that need no network and answer in the words a model would use."""

from monitoring.offline.baselines import BUILT_IN, Baseline, Case, Stored, answer, make

__all__ = ["BUILT_IN", "Baseline", "Case", "Stored", "answer", "make"]
