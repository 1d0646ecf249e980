"""What the desk's pages show: plain values for the templates, with every name masked."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime

from annotation import masking, queries
from annotation.models import Coherence, Draft, ErrorType, KeyReport, Label, ReferenceAnswer, Study, Trace
from annotation.pilot import NO_PILOT, PilotValues, values_of
from core.mathtext import excerpt
from core.models import User

LONG_TEXT = 30_000


@dataclass(frozen=True)
class ShownStep:
    """A step: its number, its text to be typeset, and the text as it came."""

    number: int
    text: str
    raw: str


@dataclass(frozen=True)
class Entered:
    """The decision bar's contents: from a refused form, a draft or the label that stands."""

    final: str = ""
    first_error: str = ""
    step: int | None = None
    comment: str = ""
    active_seconds: int = 0
    pilot: PilotValues = NO_PILOT


@dataclass(frozen=True)
class AnnotatePage:
    """Everything on the page of one trace, and nothing that its reader must not know."""

    study: Study
    trace: Trace
    letter: str
    steps: list[ShownStep]
    answer: ReferenceAnswer | None
    key_report: KeyReport | None
    guideline_text: str
    guideline_version: int
    label: Label | None
    draft: Draft | None
    entered: Entered
    progress: queries.Progress
    errors: list[str] = field(default_factory=list)
    conflict: str = ""

    @property
    def pilot_fields(self) -> list[tuple[str, str, list[tuple[str, str]], str]]:
        """The further fields of a pilot study: (name, title, choices, what is entered)."""
        if self.study.kind != Study.Kind.PILOT:
            return []
        entered = self.entered.pilot
        return [
            ("coherence", "Coherence", Coherence.choices, entered.coherence),
            ("error_type", "Kind of error", ErrorType.choices, entered.error_type),
        ]

    @property
    def revision(self) -> int:
        """The revision of the label that stands, 0 before the first."""
        return self.label.revision if self.label else 0

    @property
    def draft_version(self) -> int:
        """The version of the draft that the page shows, 0 before the first."""
        return self.draft.version if self.draft else 0

    @property
    def guideline_is_new(self) -> bool:
        """Whether the guideline has changed since the person last submitted in this study."""
        last = self.progress.last_guideline
        return last is not None and last < self.guideline_version

    @property
    def is_long(self) -> bool:
        """Whether the browser should lay out only the steps that are in view."""
        return sum(len(step.raw) for step in self.steps) > LONG_TEXT

    @property
    def place(self) -> int:
        """The number of this trace among the person's own: the next one, or those done so far."""
        return self.progress.mine + (0 if self.label else 1)

    @property
    def places(self) -> int:
        """How many traces the person will have had when nothing is left for them."""
        return max(self.place, self.progress.mine_total)


@dataclass(frozen=True)
class QueueRow:
    """One trace in the person's own list."""

    token: str
    title: str
    subject: str
    letter: str
    n_steps: int | None
    label: Label | None
    at: datetime


def annotate_page(
    trace: Trace,
    person: User,
    *,
    guideline_fallback: str,
    entered: Entered | None = None,
    errors: list[str] | None = None,
    conflict: str = "",
) -> AnnotatePage:
    """Collect the page of one trace for one person; `entered` is what a refused form held."""
    study = trace.study
    found = queries.on_the_desk(trace, person)
    label, draft, guideline = found.label, found.draft, found.guideline
    if draft is not None and draft.content.get("based_on") != (label.revision if label else 0):
        draft = None
    answer = found.answer if study.show_reference_answer else None
    return AnnotatePage(
        study=study,
        trace=trace,
        letter=masking.letters(study, person, trace.question_id, found.tokens)[trace.token],
        steps=shown_steps(trace),
        answer=answer,
        key_report=found.key_report if answer else None,
        guideline_text=guideline.text if guideline else guideline_fallback,
        guideline_version=guideline.version if guideline else 1,
        label=label,
        draft=draft,
        entered=entered or _entered(draft, label, pilot=study.kind == Study.Kind.PILOT),
        progress=found.progress,
        errors=errors or [],
        conflict=conflict,
    )


def shown_steps(trace: Trace) -> list[ShownStep]:
    """Return the steps to show; the margin has the number, so the marker at the head of the text is left out.

    Only what is shown changes: `raw` is the text as it came.
    """
    return [
        ShownStep(number, _without_marker(text, number) if trace.cut == Trace.Cut.NUMBERED else text, text)
        for number, text in trace.numbered_steps()
    ]


def _without_marker(text: str, number: int) -> str:
    return re.sub(rf"^\s*\(0*{number}\)[ \t]*", "", text, count=1)


def _entered(draft: Draft | None, label: Label | None, *, pilot: bool) -> Entered:
    if draft is not None:
        content = draft.content
        return Entered(
            final=_final(content.get("final_correct")),
            first_error=content.get("first_error", ""),
            step=content.get("first_error_step"),
            comment=content.get("comment", ""),
            active_seconds=content.get("active_seconds", 0),
            pilot=PilotValues(content.get("coherence", ""), content.get("error_type", "")),
        )
    if label is not None:
        step = label.first_error_step
        return Entered(
            final=_final(label.final_correct),
            first_error="none" if step is None else "step",
            step=step,
            comment=label.comment,
            pilot=values_of(label) if pilot else NO_PILOT,
        )
    return Entered()


def _final(correct: bool | None) -> str:
    return {True: "right", False: "wrong"}.get(correct, "") if correct is not None else ""


def queue_rows(study: Study, person: User, labels: list[Label], drafts: list[Draft]) -> list[QueueRow]:
    """Return the person's drafts and labels as rows, drafts first, with the letters they know."""
    traces = [*(draft.trace for draft in drafts), *(label.trace for label in labels)]
    tokens = queries.tokens_by_question({trace.question_id for trace in traces})

    def row(trace: Trace, label: Label | None, at: datetime) -> QueueRow:
        question = trace.question
        letters = masking.letters(study, person, question.pk, tokens[question.pk])
        return QueueRow(
            token=trace.token,
            title=excerpt(question.statement) or "a question without a statement",
            subject=question.subject,
            letter=letters[trace.token],
            n_steps=trace.n_steps,
            label=label,
            at=at,
        )

    return [row(draft.trace, None, draft.saved_at) for draft in drafts] + [
        row(label.trace, label, label.created_at) for label in labels
    ]
