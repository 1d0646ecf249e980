"""What the dispute page shows, made ready for its template: values and marks, never a source."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.safestring import SafeString, mark_safe

from adjudication import queries
from adjudication.masking import Proposal, fingerprint
from adjudication.models import Decision, Dispute, ReferenceStandard
from adjudication.services.diffs import diff_standards, in_words
from annotation.models import ReferenceAnswer, Trace
from core.mathtext import render, render_inline
from core.models import User


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
    letter: str
    corrected_html: SafeString
    preamble: SafeString
    steps: Sequence[Step]
    decision: Decision | None
    undone: Decision | None
    frozen_in: ReferenceStandard | None
    following: Dispute | None


def page_of(dispute: Dispute, *, person: User) -> DisputePage:
    """Gather the page of a dispute for a lead. A withdrawn one has no proposals to show."""
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
        letter=queries.letters_for([trace.pk], study=dispute.study, person=person)[trace.pk],
        corrected_html=_safe(
            render_inline(decision.corrected_answer.text) if decision and decision.corrected_answer else ""
        ),
        preamble=_safe(render(trace.preamble) if trace.preamble.strip() else ""),
        steps=[
            Step(
                number=number,
                html=_safe(render(_without_marker(text, number, trace.cut))),
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


@dataclass(frozen=True)
class ChangedField:
    """One line of the page that compares two standards."""

    question_id: str
    letter: str
    name: str
    before: str
    after: str


def changes_between(old: ReferenceStandard, new: ReferenceStandard, *, person: User) -> list[ChangedField]:
    """Return the differences of two standards, each solution under the letter this person knows it by."""
    changed = diff_standards(old, new)
    letters = queries.letters_for({one.trace_id for one in changed}, study=old.study, person=person)
    lines = [
        ChangedField(
            one.question_id,
            letters[one.trace_id],
            one.field.replace("_", " "),
            in_words(one.before),
            in_words(one.after),
        )
        for one in changed
    ]
    return sorted(lines, key=lambda line: (line.question_id, line.letter))


def _without_marker(text: str, number: int, cut: str) -> str:
    """Drop the "(3)" that begins a numbered step: the margin says it already."""
    if cut != Trace.Cut.NUMBERED:
        return text
    return re.sub(rf"\A\(0*{number}\)\s*", "", text)


def _safe(html: str) -> SafeString:
    return mark_safe(html)  # noqa: S308 - core.mathtext sanitises what it returns
