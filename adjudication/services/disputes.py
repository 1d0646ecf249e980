"""Bring the disputes of a study up to date with its labels, in a constant number of grouped queries."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial

from django.db import transaction

from adjudication import queries
from adjudication.models import Dispute
from adjudication.services.carried import carried_labels
from adjudication.services.locking import lock_study
from adjudication.services.states import State, wanted_states
from annotation import hooks
from annotation.models import Question, Study, Trace
from core import audit
from core.models import User

CHUNK = 500


@dataclass(frozen=True)
class Summary:
    """What a recomputation found and did; counts of traces on included questions."""

    opened: int
    changed: int
    withdrawn: int
    standing_open: int
    waiting: int
    decided: int
    settled: int
    agreeing: int
    human_only: int
    debate_only: int
    unlabelled: int

    @property
    def moved(self) -> bool:
        """Whether any dispute is another than before."""
        return bool(self.opened or self.changed or self.withdrawn)


@transaction.atomic
def recompute_disputes(
    *, study: Study, actor: User | None = None, question: Question | None = None
) -> Summary:
    """Open a dispute for every trace whose current labels differ, withdraw open ones that now agree.

    Traces that one arm alone has labelled come in by the study's rule. `waiting` counts open disputes on whose
    traces labels are still expected.

    Decided disputes are never touched, whatever the labels say since. Disputes on excluded questions are
    withdrawn while open. Where the newest standard holds a patch's or a release's word on a trace and no label
    came since, nothing is opened: `settled` counts these. With `question`, only that
    question's traces are looked at (and counted).
    """
    summary = _recompute(study, question)
    if summary.moved:
        _record(study, actor, summary)
    return summary


def _recompute(study: Study, question: Question | None) -> Summary:
    if question is None:
        lock_study(study.pk)  # two that go through all disputes would lock them in different orders
    tallies = {tally.trace_id: tally for tally in queries.tallies(study, question=question)}
    wanted = wanted_states(study, tallies.values(), question=question)

    decided: set[int] = set()
    moved: dict[State, list[int]] = {}
    agreed: list[int] = []
    seen: set[int] = set()
    for pk, trace_id, status, *state in queries.standing_disputes(study, question=question):
        seen.add(trace_id)
        if status == Dispute.Status.DECIDED:
            decided.add(trace_id)
        elif trace_id not in wanted:
            agreed.append(pk)
        elif wanted[trace_id] != tuple(state):
            moved.setdefault(wanted[trace_id], []).append(pk)

    unseen = wanted.keys() - seen
    settled = _settled(study, unseen, tallies, question) if unseen else set()
    fresh = [
        Dispute(study=study, trace_id=trace_id, words=words, n_steps=n_steps, **wanted[trace_id]._asdict())
        for trace_id, words, n_steps in _copied(sorted(unseen - settled))
    ]
    # Two recomputations at once may open the same dispute: the database keeps one.
    Dispute.objects.bulk_create(fresh, batch_size=CHUNK, ignore_conflicts=True)
    withdrawn = sum(
        Dispute.objects.filter(pk__in=pks, status=Dispute.Status.OPEN).update(status=Dispute.Status.WITHDRAWN)
        for pks in _chunks(agreed)
    )
    changed = sum(
        Dispute.objects.filter(pk__in=pks, status=Dispute.Status.OPEN).update(**state._asdict())
        for state, moved_pks in moved.items()
        for pks in _chunks(moved_pks)
    )
    standing_open = wanted.keys() - decided - settled
    summary = Summary(
        opened=len(fresh),
        changed=changed,
        withdrawn=withdrawn,
        standing_open=len(standing_open),
        waiting=sum(wanted[trace_id].awaits_labels for trace_id in standing_open),
        decided=len(decided),
        settled=len(settled),
        agreeing=sum(1 for tally in tallies.values() if not tally.differs and tally.human and tally.debate),
        human_only=sum(1 for tally in tallies.values() if not tally.debate),
        debate_only=sum(1 for tally in tallies.values() if not tally.human),
        unlabelled=queries.count_traces(study, question=question) - len(tallies),
    )
    return summary


def follow_labels(study: Study, question: Question | None, actor: User | None) -> hooks.Record | None:
    """Keep the disputes up to date when labels change: registered with annotation.hooks."""
    if question is not None and not queries.may_concern_disputes(study, question):
        return None
    summary = _recompute(study, question)
    return partial(_record, study, actor, summary) if summary.moved else None


def _record(study: Study, actor: User | None, summary: Summary) -> None:
    audit.record(
        scope=study.slug,
        actor=actor,
        action="disputes recomputed",
        subject=f"study {study.slug}",
        payload=asdict(summary),
    )


def _settled(
    study: Study, trace_ids: Collection[int], tallies: Mapping[int, queries.Tally], question: Question | None
) -> set[int]:
    """Return which of these traces, none of them decided, the newest standard settles by another word."""
    carried = carried_labels(study, question=question)
    return {
        trace_id
        for trace_id in trace_ids
        if trace_id in carried
        and carried[trace_id].stands(
            question_status=Question.Status.INCLUDED, ruled_at=None, labelled_at=tallies[trace_id].newest
        )
    }


def _copied(trace_ids: Iterable[int]) -> Iterator[tuple[int, str, int | None]]:
    """Yield (trace id, words, number of steps), what the list of disputes sorts and searches by."""
    for chunk in _chunks(trace_ids):
        rows = Trace.objects.filter(pk__in=chunk).order_by("pk")
        for pk, name, subject, n_steps in rows.values_list(
            "pk", "question__external_id", "question__subject", "n_steps"
        ):
            yield pk, f"{name}\n{subject}".lower(), n_steps


def _chunks(pks: Iterable[int]) -> Iterator[list[int]]:
    rest = iter(pks)
    while chunk := list(itertools.islice(rest, CHUNK)):
        yield chunk
