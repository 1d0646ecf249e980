"""What the newest standard settles by a patch's or a release's word, and until when that stands."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models import QuerySet

from adjudication import queries
from adjudication.models import ReferenceStandard, StandardLabel
from adjudication.services.hashing import StandardRow
from annotation.models import Question, Study


class Provenance:
    """Where a standard's label came from; a release brings words of its own."""

    BOTH_ARMS_AGREE = "both_arms_agree"
    HUMAN_ONLY = "human_only"
    DEBATE_ONLY = "debate_only"
    ADJUDICATED = "adjudicated"
    PATCHED = "patched"
    QUESTION_EXCLUDED = "question_excluded"
    OPEN_DISPUTE = "open_dispute"
    UNLABELLED = "unlabelled"
    HELD = "held"

    FROM_ROWS = frozenset(
        {
            BOTH_ARMS_AGREE,
            HUMAN_ONLY,
            DEBATE_ONLY,
            ADJUDICATED,
            QUESTION_EXCLUDED,
            OPEN_DISPUTE,
            UNLABELLED,
            HELD,
        }
    )


@dataclass(frozen=True)
class Carried:
    """A label of a standard that did not come from labels and decisions of the study.

    `question_was_in`: whether some trace of its question was not excluded in that standard.
    """

    label: StandardLabel
    at: datetime
    question_was_in: bool

    def stands(
        self, *, question_status: str, ruled_at: datetime | None, labelled_at: datetime | None
    ) -> bool:
        """Whether nothing newer speaks of the trace, and its question is in or out as it was.

        `ruled_at` and `labelled_at` are the times of the trace's ruling in force and of its newest label.
        """
        if self.question_was_in != (question_status == Question.Status.INCLUDED):
            return False
        if ruled_at is not None and ruled_at > self.at:
            return False
        patched = self.label.provenance == Provenance.PATCHED
        return patched or labelled_at is None or labelled_at <= self.at

    def on(self, base: StandardRow) -> StandardRow:
        """Return the row that carries the label on."""
        label = self.label
        return replace(
            base,
            status=label.status,
            status_reason=label.status_reason,
            final_correct=label.final_correct,
            first_error_step=label.first_error_step,
            first_error_step_min=label.first_error_step_min,
            first_error_step_max=label.first_error_step_max,
            provenance=label.provenance,
        )


def carried_labels(study: Study, *, question: Question | None = None) -> dict[int, Carried]:
    """Return what may be carried on, by trace id (of one question, if named).

    First the labels of the newest standard that came by a patch or a release's own word; then, for the other
    traces, the labels of the newest standard that a release brought, whatever their words. A trace that was held
    in a standard is looked up in the one before: a hold hides a label, it does not undo it.
    """
    newest = queries.latest_standard(study)
    if newest is None:
        return {}
    carried = _carried(newest, newest.labels.exclude(provenance__in=Provenance.FROM_ROWS), question)
    hidden = _held(newest, None)
    for older in queries.standards_of(study).filter(version__lt=newest.version) if hidden else ():
        spoken = older.labels.exclude(provenance__in=Provenance.FROM_ROWS).filter(trace__in=hidden)
        carried |= _carried(older, spoken, question)
        hidden = _held(older, hidden)
        if not hidden:
            break
    brought = queries.standards_of(study).filter(imported=True).first()
    if brought is not None:
        carried = {**_carried(brought, brought.labels.all(), question), **carried}
    return carried


def _held(standard: ReferenceStandard, among: set[int] | None) -> set[int]:
    """Return the traces that a standard lists as held, all or among some."""
    labels = standard.labels.filter(provenance=Provenance.HELD)
    if among is not None:
        labels = labels.filter(trace__in=among)
    return set(labels.values_list("trace", flat=True))


def _carried(
    standard: ReferenceStandard, labels: QuerySet[StandardLabel], question: Question | None
) -> dict[int, Carried]:
    labels = labels.select_related("trace").defer("trace__steps", "trace__preamble")
    scope = standard.labels.exclude(status=StandardLabel.Status.EXCLUDED)
    if question is not None:
        labels, scope = labels.filter(trace__question=question), scope.filter(trace__question=question)
    found = list(labels)
    were_in = set(scope.values_list("trace__question_id", flat=True).distinct()) if found else set()
    return {
        label.trace_id: Carried(label, standard.created_at, label.trace.question_id in were_in)
        for label in found
    }
