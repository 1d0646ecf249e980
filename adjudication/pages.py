"""What the dispute page shows, made ready for its template: values and marks, never a source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString, mark_safe

from adjudication import queries
from adjudication.masking import Proposal, fingerprint
from adjudication.models import Decision, Dispute, ReferenceStandard
from annotation.models import ReferenceAnswer
from core.mathtext import render, render_inline


@dataclass(frozen=True)
class Step:
    """A step of the trace with the proposals that name it as the first false one."""

    number: int
    html: SafeString
    marks: Sequence[Proposal]
    within: Sequence[Proposal]
    decided: bool


@dataclass(frozen=True)
class DisputePage:
    """Everything on the page of one dispute."""

    dispute: Dispute
    proposals: Sequence[Proposal]
    fingerprint: str
    revision: int
    statement: SafeString
    rationale: SafeString
    reference: ReferenceAnswer | None
    reference_html: SafeString
    preamble: SafeString
    steps: Sequence[Step]
    decision: Decision | None
    undone: Decision | None
    frozen_in: ReferenceStandard | None
    following: Dispute | None


def page_of(dispute: Dispute) -> DisputePage:
    """Gather the page of a dispute. A withdrawn one has no proposals to show."""
    trace, question = dispute.trace, dispute.trace.question
    latest = queries.latest_decision(dispute)
    undone = latest if latest and latest.choice == Decision.Choice.UNDO else None
    decision = None if undone else latest
    shown = [] if dispute.status == Dispute.Status.WITHDRAWN else queries.proposals_in(dispute)
    reference = queries.reference_answer_of(question)
    return DisputePage(
        dispute=dispute,
        proposals=shown,
        fingerprint=fingerprint(shown),
        revision=latest.revision if latest else 0,
        statement=_safe(render(question.statement)),
        rationale=_safe(render(question.rationale)),
        reference=reference,
        reference_html=_safe(render_inline(reference.text) if reference else ""),
        preamble=_safe(render(trace.preamble) if trace.preamble.strip() else ""),
        steps=[
            Step(
                number=number,
                html=_safe(render(text)),
                marks=[one for one in shown if one.first_error_step == number],
                within=[one for one in shown if one.range and one.range[0] <= number <= one.range[1]],
                decided=decision is not None and decision.first_error_step == number,
            )
            for number, text in trace.numbered_steps()
        ],
        decision=decision,
        undone=undone,
        frozen_in=queries.frozen_in(decision) if decision else None,
        following=queries.next_open(dispute.study, after=dispute.token),
    )


def _safe(html: str) -> SafeString:
    return mark_safe(html)  # noqa: S308 - core.mathtext sanitises what it returns
