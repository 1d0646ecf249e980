"""Which traces should be in dispute, and how: from the tallies of labels and the study's rules."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from typing import NamedTuple

from adjudication import queries
from adjudication.models import Rules, StatedGap
from annotation.models import Question, Study, Trace


class State(NamedTuple):
    """The fields of an open dispute that follow from the labels."""

    differs_in_answer: bool
    differs_in_presence: bool
    differs_in_step: bool
    by_rule: str
    awaits_labels: bool


FEW = 500  # so many keys fit into one statement on either database


def wanted_states(
    study: Study, tallies: Iterable[queries.Tally], *, question: Question | None = None
) -> dict[int, State]:
    """Return how each trace should stand in dispute; traces that should not are left out.

    A trace awaits labels while fewer people than the study's overlap have labelled it, or the debate should
    have and has not, unless a lead stated the gap.
    """
    tallies = list(tallies)
    rules = queries.rules_of(study)
    sent = _sent_by_rule(rules, [tally for tally in tallies if tally.one_arm and not tally.differs])
    disputed = [tally for tally in tallies if tally.differs or tally.trace_id in sent]
    if not disputed:
        return {}
    debate = queries.debate_is_expected(study, rules)
    missing = {
        tally.trace_id for tally in disputed if tally.human < study.overlap or (debate and not tally.debate)
    }
    waiting = missing - _with_stated_gap(study, missing, question)
    return {
        tally.trace_id: State(
            *tally.kinds,
            by_rule="" if tally.differs else rules.one_arm,
            awaits_labels=tally.trace_id in waiting,
        )
        for tally in disputed
    }


def in_sample(question_id: str, response_label: str, *, seed: int, percent: int) -> bool:
    """Whether a trace belongs to a seeded sample: by its natural key alone, whenever it arrived."""
    digest = hashlib.sha256(f"{seed}|{question_id}|{response_label}".encode()).digest()
    return int.from_bytes(digest[:8], "big") < percent * 2**64 // 100


def _sent_by_rule(rules: Rules, tallies: Collection[queries.Tally]) -> set[int]:
    if rules.one_arm == Rules.OneArm.NONE or not tallies:
        return set()
    if rules.one_arm == Rules.OneArm.ALL:
        return {tally.trace_id for tally in tallies}
    if rules.one_arm == Rules.OneArm.CRITICAL:
        return {tally.trace_id for tally in tallies if tally.critical}
    candidates = {tally.trace_id for tally in tallies}
    traces = Trace.objects.filter(study=rules.study)
    if len(candidates) <= FEW:
        traces = traces.filter(pk__in=candidates)
    keys = traces.values_list("pk", "question__external_id", "response_label")
    return {
        pk
        for pk, question_id, label in keys.iterator(chunk_size=2000)
        if pk in candidates
        and in_sample(question_id, label, seed=rules.sample_seed, percent=rules.sample_percent)
    }


def _with_stated_gap(study: Study, missing: set[int], question: Question | None) -> set[int]:
    if not missing:
        return set()
    gaps = StatedGap.objects.filter(study=study)
    if gaps.filter(trace__isnull=True).exists():
        return missing
    of_traces = gaps.filter(trace__isnull=False)
    if question is not None:
        of_traces = of_traces.filter(trace__question=question)
    return set(of_traces.values_list("trace_id", flat=True))
