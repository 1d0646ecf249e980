"""What the dispute page shows, made ready for its template: values and marks, never a source."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.utils.safestring import SafeString, mark_safe

from adjudication import queries, sources
from adjudication.arguments import Argument
from adjudication.masking import Proposal, fingerprint
from adjudication.models import CriticalRole, Decision, Dispute, Guess, ReferenceStandard, StandardLabel
from adjudication.services.diffs import diff_standards, in_words
from adjudication.sources import Source
from annotation.models import DebateRound, ReferenceAnswer, Trace
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
    own: bool
    arguments: Sequence[Argument] | None
    arguments_may_open: bool
    guess: Guess | None
    sources: Sequence[Source]
    has_debate: bool
    seen_before: bool


def page_of(dispute: Dispute, *, person: User) -> DisputePage:
    """Gather the page of a dispute for a lead. A withdrawn one has no proposals to show."""
    trace, question = dispute.trace, dispute.trace.question
    latest = queries.latest_decision(dispute)
    undone = latest if latest and latest.choice == Decision.Choice.UNDO else None
    decision = None if undone else latest
    hidden = not queries.shows_proposals(dispute)
    shown = [] if hidden else queries.proposals_in(dispute)
    rules = queries.rules_of(dispute.study)
    guess = sources.guess_of(decision, person) if decision else None
    arguments = None if decision or hidden else sources.opened_arguments(dispute, person)
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
        own=not rules.own_labels and decision is None and sources.is_own(dispute, person),
        arguments=arguments,
        arguments_may_open=rules.arguments_open and decision is None and not hidden and arguments is None,
        guess=guess,
        sources=sources.sources_of(decision) if decision and guess else [],
        has_debate=guess is not None and bool(sources.debate_on(trace)),
        seen_before=decision is None and sources.shown_to(dispute, person),
    )


@dataclass(frozen=True)
class RolePage:
    """Everything on the page of one critical trace whose role is coded."""

    label: StandardLabel
    letter: str
    statement: SafeString
    reference_html: SafeString
    preamble: SafeString
    steps: Sequence[tuple[int, SafeString, bool]]
    role: CriticalRole | None

    @property
    def revision(self) -> int:
        return self.role.revision if self.role else 0


def role_page_of(label: StandardLabel, *, person: User) -> RolePage:
    """Gather the page of a critical trace: (number, text, whether it is the first false one) of each step."""
    trace, question = label.trace, label.trace.question
    reference = label.reference_answer
    low, high = (
        label.first_error_step_min or label.first_error_step or 0,
        label.first_error_step_max or label.first_error_step or 0,
    )
    return RolePage(
        label=label,
        letter=queries.letters_for([trace.pk], study=trace.study, person=person)[trace.pk],
        statement=_safe(render(question.statement)),
        reference_html=_safe(render_inline(reference.text) if reference else ""),
        preamble=_safe(render(trace.preamble) if trace.preamble.strip() else ""),
        steps=[
            (number, _safe(render(_without_marker(text, number, trace.cut))), low <= number <= high)
            for number, text in trace.numbered_steps()
        ],
        role=queries.role_of(trace),
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


@dataclass(frozen=True)
class Round:
    """One round of a debate, its texts typeset."""

    number: int
    title: str
    model: str
    given: Sequence[tuple[str, SafeString]]
    said: Sequence[tuple[str, SafeString]]
    cost: Decimal | None


def rounds_of(rounds: Sequence[DebateRound]) -> list[Round]:
    """Return the rounds of a debate as they are read."""
    return [
        Round(
            number=number,
            title=one.get_name_display(),
            model=one.model,
            given=_fields(one.given),
            said=_fields(one.said),
            cost=one.cost,
        )
        for number, one in enumerate(rounds, start=1)
    ]


def _fields(content: dict[str, Any]) -> list[tuple[str, SafeString]]:
    """Return (name, HTML) of each field; a text is typeset, anything else is shown as JSON."""
    return [
        (
            name.replace("_", " "),
            _safe(render(value if isinstance(value, str) else f"`{json.dumps(value, ensure_ascii=False)}`")),
        )
        for name, value in content.items()
        if value is not None and value != ""
    ]
