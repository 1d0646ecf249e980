"""Reads: what is in dispute, what was decided, what is frozen. Nothing here writes."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from django.db.models import Count, Exists, F, Max, Min, OuterRef, Q, QuerySet

from adjudication.judgements import Judgement
from adjudication.masking import Proposal, proposals
from adjudication.models import Decision, Dispute, ReferenceStandard, Rules, StandardLabel, StatedGap
from annotation.masking import letters
from annotation.models import DebateRound, Label, Question, ReferenceAnswer, Study, Trace
from core.models import User

K = TypeVar("K")
KINDS = ("answer", "presence", "step", "single")


@dataclass(frozen=True)
class Tally:
    """How the current labels of one trace stand, from one grouped query."""

    trace_id: int
    labels: int
    human: int
    debate: int
    right: int
    with_step: int
    lowest_step: int | None
    highest_step: int | None
    newest: datetime

    @property
    def kinds(self) -> tuple[bool, bool, bool]:
        """Whether the labels differ in the answer, in the presence of an error, in its step."""
        return (
            0 < self.right < self.labels,
            0 < self.with_step < self.labels,
            self.lowest_step != self.highest_step,
        )

    @property
    def differs(self) -> bool:
        return any(self.kinds)

    @property
    def one_arm(self) -> bool:
        """Whether only one arm has spoken."""
        return not (self.human and self.debate)

    @property
    def critical(self) -> bool:
        """Whether every label says: the answer is right, and there is an error."""
        return self.right == self.labels and self.with_step == self.labels


def current_labels(study: Study, *, question: Question | None = None) -> QuerySet[Label]:
    """Return the labels that no other supersedes, on included questions (of one question, if named)."""
    labels = Label.objects.filter(
        trace__study=study,
        trace__question__status=Question.Status.INCLUDED,
        superseded_by__isnull=True,
    )
    return labels if question is None else labels.filter(trace__question=question)


def tallies(study: Study, *, question: Question | None = None) -> list[Tally]:
    """Return one tally for each labelled trace on an included question."""
    rows = (
        current_labels(study, question=question)
        .order_by()
        .values("trace_id")
        .annotate(
            labels=Count("id"),
            human=Count("id", filter=Q(arm=Label.Arm.HUMAN)),
            debate=Count("id", filter=Q(arm=Label.Arm.DEBATE)),
            right=Count("id", filter=Q(final_correct=True)),
            with_step=Count("first_error_step"),
            lowest_step=Min("first_error_step"),
            highest_step=Max("first_error_step"),
            newest=Max("created_at"),
        )
    )
    return [Tally(**row) for row in rows]


@dataclass(frozen=True)
class OneArmTrace:
    """A trace that only one arm has labelled."""

    question_id: str
    response_label: str
    token: str
    arm: str


def one_arm_traces(study: Study) -> list[OneArmTrace]:
    """List the traces on included questions that only one arm has labelled, by question and label.

    For commands and exports: the arm and the stored label are never shown to a lead before the decision.
    """
    arms = {
        tally.trace_id: "human" if tally.human else "debate"
        for tally in tallies(study)
        if not (tally.human and tally.debate)
    }
    traces = (
        Trace.objects.filter(study=study, question__status=Question.Status.INCLUDED)
        .order_by("question__external_id", "response_label")
        .values_list("id", "question__external_id", "response_label", "token")
    )
    return [
        OneArmTrace(question_id, label, token, arms[pk])
        for pk, question_id, label, token in traces
        if pk in arms
    ]


def rules_of(study: Study) -> Rules:
    """Return the study's rules of adjudication; the defaults, unsaved, where none were set."""
    return Rules.objects.filter(study=study).first() or Rules(study=study)


def debate_is_expected(study: Study, rules: Rules) -> bool:
    """Whether every trace should have a label of the debate: by the rules, or because the debate has begun."""
    if rules.debate_expected == Rules.Expected.AUTO:
        return Label.objects.filter(trace__study=study, arm=Label.Arm.DEBATE).exists()
    return rules.debate_expected == Rules.Expected.YES


def stated_gaps(study: Study) -> QuerySet[StatedGap]:
    """Return the gaps that leads stated, that of the whole study first."""
    return (
        StatedGap.objects.filter(study=study)
        .select_related("trace__question", "stated_by")
        .order_by(F("trace").asc(nulls_first=True), "pk")
    )


def judgements_on(trace: Trace) -> list[Judgement]:
    """Return what the current labels of a trace say."""
    rows = Label.objects.filter(trace=trace, superseded_by__isnull=True).values_list(
        "final_correct", "first_error_step", "first_error_step_min", "first_error_step_max"
    )
    return [
        Judgement(
            final_correct=right, first_error_step=step, first_error_step_min=low, first_error_step_max=high
        )
        for right, step, low, high in rows
    ]


def proposals_in(dispute: Dispute) -> list[Proposal]:
    """Return the proposals of a dispute: as stored once it is decided, from the current labels before."""
    decision = standing_decision(dispute) if dispute.status == Dispute.Status.DECIDED else None
    if decision is None:
        judgements = judgements_on(dispute.trace)
    else:
        judgements = [
            Judgement(
                final_correct=row["final_correct"],
                first_error_step=row["first_error_step"],
                first_error_step_min=row.get("first_error_step_min"),
                first_error_step_max=row.get("first_error_step_max"),
            )
            for row in decision.proposals
        ]
    return proposals(judgements, masking_key=dispute.study.masking_key, token=dispute.token)


def shows_proposals(dispute: Dispute) -> bool:
    """Whether the proposals may be seen: a withdrawn dispute has none, one that awaits labels not all yet."""
    if dispute.status == Dispute.Status.OPEN:
        return not dispute.awaits_labels
    return dispute.status == Dispute.Status.DECIDED


def latest_decision(dispute: Dispute) -> Decision | None:
    """Return the newest ruling, an undo included; its revision is what the next one must expect."""
    return (
        dispute.decisions.select_related("decided_by", "corrected_answer")
        .prefetch_related("consultations")
        .order_by("-revision")
        .first()
    )


def standing_decision(dispute: Dispute) -> Decision | None:
    """Return the ruling in force: none before the first, none after an undo."""
    decision = latest_decision(dispute)
    return None if decision is None or decision.choice == Decision.Choice.UNDO else decision


def standing_decisions(study: Study) -> dict[int, Decision]:
    """Return the rulings in force by trace id."""
    decisions = (
        Decision.objects.filter(
            dispute__study=study, dispute__status=Dispute.Status.DECIDED, superseded_by__isnull=True
        )
        .exclude(choice=Decision.Choice.UNDO)
        .select_related("dispute")
    )
    return {decision.dispute.trace_id: decision for decision in decisions}


def frozen_in(decision: Decision) -> ReferenceStandard | None:
    """Return the first standard that was frozen on top of a decision, or None while it may be undone."""
    return (
        ReferenceStandard.objects.filter(
            study=decision.dispute.study_id,
            labels__trace=decision.dispute.trace_id,
            created_at__gte=decision.created_at,
        )
        .order_by("version")
        .first()
    )


OF_KIND = {
    "answer": Q(differs_in_answer=True),
    "presence": Q(differs_in_presence=True),
    "step": Q(differs_in_step=True),
    "single": Q(differs_in_answer=False, differs_in_presence=False, differs_in_step=False),
}
IN_STATE = {
    "open": Q(status=Dispute.Status.OPEN, awaits_labels=False),
    "waiting": Q(status=Dispute.Status.OPEN, awaits_labels=True),
    "decided": Q(status=Dispute.Status.DECIDED),
}
# None of these orders tells a source: the token is random, the rest are values and natural keys.
ORDERS: dict[str, tuple[str, ...]] = {
    "shuffled": ("token",),
    "weight": ("-differs_in_answer", "-differs_in_presence", "-differs_in_step", "token"),
    "question": ("trace__question__external_id", "token"),
    "length": ("trace__n_steps", "token"),
}


def disputes_in(
    study: Study, *, state: str, kind: str | None = None, words: str = "", order: str = "shuffled"
) -> QuerySet[Dispute]:
    """Return the disputes of a list page: `state`, `kind` and `order` are keys of the tables above.

    `words` looks in the question's id and subject.
    """
    disputes = Dispute.objects.filter(IN_STATE[state], study=study).select_related("trace__question")
    if kind is not None:
        disputes = disputes.filter(OF_KIND[kind])
    if words:
        disputes = disputes.filter(
            Q(trace__question__external_id__icontains=words) | Q(trace__question__subject__icontains=words)
        )
    return disputes.defer("trace__steps", "trace__preamble", "trace__question__statement").order_by(
        *ORDERS[order]
    )


def decided_with_debate(study: Study) -> QuerySet[Dispute]:
    """Return the decided disputes on whose traces a debate was stored, by question."""
    return (
        Dispute.objects.filter(study=study, status=Dispute.Status.DECIDED)
        .filter(Exists(DebateRound.objects.filter(trace=OuterRef("trace"))))
        .select_related("trace__question")
        .order_by("trace__question__external_id", "token")
    )


def dispute_counts(study: Study) -> dict[str, dict[str, int]]:
    """Return counts {state: {"all": n, and one for each kind}} of what can be decided, waits, is decided."""
    states = {
        (Dispute.Status.OPEN.value, False): "open",
        (Dispute.Status.OPEN.value, True): "waiting",
        (Dispute.Status.DECIDED.value, False): "decided",
        (Dispute.Status.DECIDED.value, True): "decided",
    }
    counts = {state: dict.fromkeys(("all", *KINDS), 0) for state in IN_STATE}
    rows = (
        Dispute.objects.filter(study=study, status__in=("open", "decided"))
        .order_by()
        .values_list("status", "awaits_labels", "differs_in_answer", "differs_in_presence", "differs_in_step")
        .annotate(total=Count("id"))
    )
    for status, awaits, answer, presence, step, total in rows:
        count = counts[states[status, awaits]]
        flags = (True, answer, presence, step, not (answer or presence or step))
        for name, holds in zip(("all", *KINDS), flags, strict=True):
            count[name] += total * holds
    return counts


def sent_by_rule(study: Study) -> set[int]:
    """Return the ids of traces that one arm alone has labelled and that wait for the lead by rule."""
    sent = Dispute.objects.filter(study=study, status=Dispute.Status.OPEN).filter(OF_KIND["single"])
    return set(sent.values_list("trace_id", flat=True))


def rulings_on(disputes: Iterable[Dispute]) -> dict[int, Decision]:
    """Return the rulings in force on some disputes by dispute id; one query."""
    decisions = (
        Decision.objects.filter(dispute__in=[dispute.pk for dispute in disputes], superseded_by__isnull=True)
        .exclude(choice=Decision.Choice.UNDO)
        .select_related("decided_by")
    )
    return {decision.dispute_id: decision for decision in decisions}


def next_open(study: Study, *, after: str = "") -> Dispute | None:
    """Return the open dispute that follows a token in the list's order, going round at its end."""
    standing = Dispute.objects.filter(IN_STATE["open"], study=study).order_by("token")
    return standing.filter(token__gt=after).first() or standing.exclude(token=after).first()


def reference_answer_of(question: Question) -> ReferenceAnswer | None:
    """Return the reference answer in force: the highest version."""
    return question.reference_answers.order_by("-version").first()


def reference_answers_in_force(study: Study) -> dict[int, ReferenceAnswer]:
    """Return the highest version of every question's reference answer, by question id."""
    answers = ReferenceAnswer.objects.filter(question__study=study).order_by("question_id", "version")
    return {answer.question_id: answer for answer in answers}


def standards_of(study: Study) -> QuerySet[ReferenceStandard]:
    """Return the study's standards, newest first."""
    return study.standards.select_related("parent", "frozen_by", "guideline").order_by("-version")


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


def card_of(standard: ReferenceStandard) -> Card:
    """Count a standard's labels by status, cell and provenance (of the ready ones)."""
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
        provenance=_sums((row.provenance, row.total) for row in ready),
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


def letters_for(trace_ids: Collection[int], *, study: Study, person: User) -> dict[int, str]:
    """Return the letter by which the person knows each trace."""
    questions = Trace.objects.filter(pk__in=trace_ids).values("question_id")
    tokens: dict[int, dict[str, int]] = {}
    rows = Trace.objects.filter(study=study, question_id__in=questions).values_list(
        "pk", "question_id", "token"
    )
    for pk, question_id, token in rows:
        tokens.setdefault(question_id, {})[token] = pk
    return {
        pks[token]: letter
        for question_id, pks in tokens.items()
        for token, letter in letters(study, person, question_id, pks).items()
    }
