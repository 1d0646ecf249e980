"""Builders for adjudication: labelled traces, disputes, decisions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjudication import queries
from adjudication.models import Decision, Dispute, ReferenceStandard
from adjudication.services.assembly import freeze_preconditions
from adjudication.services.decisions import decide
from adjudication.services.disputes import recompute_disputes
from adjudication.services.standards import freeze_standard
from annotation.models import Label, Question, Study, Trace
from core.models import User
from tests.build import make_label, make_question, make_trace

HUMAN, DEBATE = Label.Arm.HUMAN, Label.Arm.DEBATE
Said = tuple[str, str, bool, int | None]


def label_trace(trace: Trace, said: Sequence[Said]) -> None:
    """Give a trace labels (arm, labeller, final_correct, first_error_step)."""
    for arm, labeller, right, step in said:
        make_label(trace, arm=arm, labeller=labeller, final_correct=right, first_error_step=step)


def both(trace: Trace, human: tuple[bool, int | None], debate: tuple[bool, int | None]) -> None:
    """Give a trace one label of each arm."""
    label_trace(trace, [(HUMAN, "ana", *human), (DEBATE, "debate", *debate)])


def make_dispute(
    study: Study,
    *,
    human: tuple[bool, int | None] = (True, 2),
    debate: tuple[bool, int | None] = (True, 4),
    question: Question | None = None,
    **fields: Any,
) -> Dispute:
    """Make a trace whose arms differ, and open its dispute."""
    trace = make_trace(question or make_question(study), **fields)
    both(trace, human, debate)
    recompute_disputes(study=study)
    return Dispute.objects.select_related("study", "trace__question").get(trace=trace)


def settle(dispute: Dispute, lead: User, **fields: Any) -> Decision:
    """Decide a dispute for its first proposal, or as the fields say."""
    latest = queries.latest_decision(dispute)
    return decide(
        **{
            "dispute": dispute,
            "lead": lead,
            "choice": "proposal",
            "mark": "A",
            "rationale": "The sign is lost there.",
            "expected_revision": latest.revision if latest else 0,
            **fields,
        }
    )


def make_standard(study: Study, **fields: Any) -> ReferenceStandard:
    """Freeze what is there, with at least one labelled trace."""
    if any(one.name == "no label to freeze" for one in freeze_preconditions(study)):
        both(make_trace(make_question(study)), (True, None), (True, None))
    return freeze_standard(study=study, **fields).standard
