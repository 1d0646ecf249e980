"""Reads that know who said what: for after the decision, and for what is rewritten before it."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from adjudication import queries
from adjudication.arguments import Argument, arguments_for
from adjudication.models import Decision, Dispute, Guess, OpenedArguments
from annotation.models import DebateRound, Label, Membership, Study, Trace
from core.models import User
from stats.binomial import Share, share_of

Point = tuple[bool, int | None]


@dataclass(frozen=True)
class Source:
    """Who had proposed a value when it was decided on."""

    mark: str
    final_correct: bool
    first_error_step: int | None
    people: tuple[str, ...]
    debate: bool

    @property
    def arm(self) -> str | None:
        """The one arm behind the proposal; None where both stood behind it, or nobody does any more."""
        if self.debate and self.people:
            return None
        if self.debate:
            return Guess.Source.DEBATE.value
        return Guess.Source.HUMAN.value if self.people else None


def shown_to(dispute: Dispute, person: User) -> bool:
    """Whether the person has seen the sources of this dispute, at whatever ruling."""
    return Guess.objects.filter(decision__dispute=dispute, person=person).exists()


def guess_of(decision: Decision, person: User) -> Guess | None:
    """Return the person's guess on a ruling; there is one exactly when its sources were shown to them."""
    return Guess.objects.filter(decision=decision, person=person).first()


def is_own(dispute: Dispute, person: User) -> bool:
    """Whether the person labelled the trace."""
    return Label.objects.filter(trace=dispute.trace_id, person=person).exists()


def sources_of(decision: Decision) -> list[Source]:
    """Return who stood behind each proposal when the ruling was made."""
    return _sources([decision])[decision.pk]


def arguments_on(dispute: Dispute) -> list[Argument] | None:
    """Return the rewritten arguments of a dispute in the order of its proposals; None if one is lacking."""
    said: dict[Point, list[str]] = {}
    labels = Label.objects.filter(trace=dispute.trace_id, superseded_by__isnull=True)
    for right, step, comment in labels.values_list("final_correct", "first_error_step", "comment"):
        said.setdefault((right, step), []).append(comment)
    return arguments_for(
        queries.proposals_in(dispute), said, names=_names(dispute.study, dispute.trace.question_id)
    )


def opened_arguments(dispute: Dispute, person: User) -> list[Argument] | None:
    """Return the arguments if this person opened them, else None."""
    if not OpenedArguments.objects.filter(dispute=dispute, person=person).exists():
        return None
    return arguments_on(dispute)


def debate_on(trace: Trace) -> list[DebateRound]:
    """Return the rounds of the debate on a trace, in the order they are held."""
    order = list(DebateRound.Name.values)
    rounds = DebateRound.objects.filter(trace=trace)
    return sorted(rounds, key=lambda one: order.index(one.name))


@dataclass(frozen=True)
class Blindness:
    """How often leads told proposal A's arm, among guesses on proposals that one arm alone made."""

    share: Share
    declined: int
    unclear: int

    @property
    def defined(self) -> bool:
        return not math.isnan(self.share.share)


def measured_blindness(study: Study, *, until: datetime | None = None) -> Blindness:
    """Score the guesses of a study (made until a time) against who had made proposal A."""
    guesses = Guess.objects.filter(decision__dispute__study=study).select_related("decision__dispute")
    if until is not None:
        guesses = guesses.filter(created_at__lte=until)
    made = list(guesses)
    spoken = [guess for guess in made if guess.source]
    sources = _sources([guess.decision for guess in spoken])
    hits = unclear = 0
    for guess in spoken:
        first = sources[guess.decision_id][0] if sources[guess.decision_id] else None
        if first is None or first.arm is None:
            unclear += 1
        else:
            hits += guess.source == first.arm
    return Blindness(share_of(hits, len(spoken) - unclear), len(made) - len(spoken), unclear)


def _sources(decisions: Collection[Decision]) -> dict[int, list[Source]]:
    """Return the sources by decision id; two queries however many decisions."""
    traces = {decision.dispute.trace_id for decision in decisions}
    labels: dict[int, list[Label]] = {}
    for label in (
        Label.objects.filter(trace__in=traces).select_related("person", "superseded_by").order_by("labeller")
    ):
        labels.setdefault(label.trace_id, []).append(label)
    return {
        decision.pk: [
            _source(row, labels.get(decision.dispute.trace_id, []), decision.created_at)
            for row in decision.proposals
        ]
        for decision in decisions
    }


def _source(row: dict[str, object], labels: Iterable[Label], at: datetime) -> Source:
    point = (row["final_correct"], row["first_error_step"])
    behind = [
        label
        for label in labels
        if (label.final_correct, label.first_error_step) == point
        and label.created_at <= at
        and not (hasattr(label, "superseded_by") and label.superseded_by.created_at <= at)
    ]
    return Source(
        mark=str(row["mark"]),
        final_correct=bool(row["final_correct"]),
        first_error_step=row["first_error_step"] if isinstance(row["first_error_step"], int) else None,
        people=tuple(str(label.person or label.labeller) for label in behind if label.arm == Label.Arm.HUMAN),
        debate=any(label.arm == Label.Arm.DEBATE for label in behind),
    )


def _names(study: Study, question_id: int) -> set[str]:
    """Return every word of the study that tells a person, a model or a stored label."""
    names: set[str] = set()
    members = Membership.objects.filter(study=study)
    for username, display in members.values_list("person__username", "person__display_name"):
        names |= {username, display, *display.split()}
    names |= set(Label.objects.filter(trace__study=study).values_list("labeller", flat=True).distinct())
    names |= set(Trace.objects.filter(study=study).values_list("generator", flat=True).distinct())
    names |= set(
        Trace.objects.filter(question=question_id).values_list("response_label", flat=True).distinct()
    )
    names |= set(DebateRound.objects.filter(trace__study=study).values_list("model", flat=True).distinct())
    return {name for name in names if len(name) >= 2}
