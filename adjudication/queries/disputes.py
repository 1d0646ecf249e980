"""Reads of disputes, their proposals and the rulings on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from adjudication.judgements import Judgement
from adjudication.masking import Proposal, proposals
from adjudication.models import Decision, Dispute, ReferenceStandard
from annotation.models import DebateRound, Label, Question, Study, Trace
from core import statements

KINDS = ("answer", "presence", "step", "single")
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
    "question": ("words", "token"),
    "length": ("n_steps", "token"),
}


_STANDING = """
SELECT d.id, d.trace_id, d.status,
    d.differs_in_answer, d.differs_in_presence, d.differs_in_step, d.by_rule, d.awaits_labels
FROM adjudication_dispute d JOIN annotation_trace t ON t.id = d.trace_id
WHERE d.study_id = %(study)s AND d.status <> 'withdrawn'
"""
_TRACES = """
SELECT COUNT(*) FROM annotation_trace t JOIN annotation_question q ON q.id = t.question_id
WHERE t.study_id = %(study)s AND q.status = 'included'
AND NOT EXISTS (SELECT 1 FROM annotation_checkitem c WHERE c.trace_id = t.id)
"""


def standing_disputes(study: Study, *, question: Question | None = None) -> list[tuple[Any, ...]]:
    """Return (key, trace, status, and the fields of a State) of the disputes that are not withdrawn."""
    return statements.rows(*_of(study, question, _STANDING))


def count_traces(study: Study, *, question: Question | None = None) -> int:
    """Return the number of traces of included questions that are no check items."""
    return int(statements.rows(*_of(study, question, _TRACES))[0][0])


def _of(study: Study, question: Question | None, statement: str) -> tuple[str, dict[str, int]]:
    if question is None:
        return statement, {"study": study.pk}
    return statement + " AND t.question_id = %(question)s", {"study": study.pk, "question": question.pk}


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


def disputes_in(
    study: Study, *, state: str, kind: str | None = None, words: str = "", order: str = "shuffled"
) -> QuerySet[Dispute]:
    """Return the disputes of a list page in its order: `state`, `kind` and `order` are keys of the tables above.

    Page over their keys and read the page by `disputes_by_key`: joined, every row before it would be read too.

    `words` looks in the question's id and subject.
    """
    disputes = Dispute.objects.filter(IN_STATE[state], study=study)
    if kind is not None:
        disputes = disputes.filter(OF_KIND[kind])
    if words:
        disputes = disputes.filter(words__contains=words.lower())
    return disputes.order_by(*ORDERS[order])


def disputes_by_key(keys: Sequence[int]) -> list[Dispute]:
    """Return disputes with their traces and questions, in the order of the keys, without long texts."""
    found = (
        Dispute.objects.filter(pk__in=list(keys))
        .select_related("trace__question")
        .defer("trace__steps", "trace__preamble", "trace__question__statement", "trace__question__rationale")
    )
    by_key = {dispute.pk: dispute for dispute in found}
    return [by_key[key] for key in keys if key in by_key]


def decided_with_debate(study: Study) -> QuerySet[Dispute]:
    """Return the decided disputes on whose traces a debate was stored, by question; read by `disputes_by_key`."""
    return (
        Dispute.objects.filter(study=study, status=Dispute.Status.DECIDED)
        .filter(Exists(DebateRound.objects.filter(trace=OuterRef("trace"))))
        .order_by(*ORDERS["question"])
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
