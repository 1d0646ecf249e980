"""Each constraint of adjudication refuses its bad row; every final row of the project refuses a change."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, models, transaction

from adjudication.models import (
    Consultation,
    CriticalRole,
    Decision,
    Dispute,
    Guess,
    OpenedArguments,
    ReferenceStandard,
    Rules,
    StandardLabel,
    StatedGap,
)
from annotation.models import Study
from core.models import User
from tests.adjudication.build import make_dispute, make_standard, settle
from tests.build import make_person, make_question, make_study, make_trace

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def _bad_dispute(**fields: Any) -> Callable[[Study, User], Any]:
    def insert(study: Study, lead: User) -> Any:
        trace = make_trace(make_question(study))
        return Dispute.objects.create(**{"study": study, "trace": trace, "differs_in_step": True, **fields})

    return insert


def _second_standing_dispute(study: Study, lead: User) -> Any:
    dispute = make_dispute(study)
    return Dispute.objects.create(
        study=study, trace=dispute.trace, differs_in_step=True, status=Dispute.Status.DECIDED
    )


def _bad_decision(**fields: Any) -> Callable[[Study, User], Any]:
    def insert(study: Study, lead: User) -> Any:
        return Decision.objects.create(
            **{
                "dispute": make_dispute(study),
                "choice": "other",
                "final_correct": True,
                "rationale": "x",
                "decided_by": lead,
                **fields,
            }
        )

    return insert


def _second_revision_1(study: Study, lead: User) -> Any:
    decision = settle(make_dispute(study), lead)
    return Decision.objects.create(
        dispute=decision.dispute, choice="other", final_correct=True, rationale="x", decided_by=lead
    )


def _nameless_consultation(study: Study, lead: User) -> Any:
    return Consultation.objects.create(decision=settle(make_dispute(study), lead), who="")


def _bad_standard(**fields: Any) -> Callable[[Study, User], Any]:
    def insert(study: Study, lead: User) -> Any:
        first = make_standard(study)
        wanted = {name: first if value == "first" else value for name, value in fields.items()}
        return ReferenceStandard.objects.create(
            **{"study": study, "version": 2, "sha256": "0" * 64, **wanted}
        )

    return insert


def _bad_standard_label(**fields: Any) -> Callable[[Study, User], Any]:
    def insert(study: Study, lead: User) -> Any:
        standard = make_standard(study)
        trace = make_trace(make_question(study))
        return StandardLabel.objects.create(
            **{
                "standard": standard,
                "trace": trace,
                "status": "ready",
                "final_correct": True,
                "provenance": "x",
                **fields,
            }
        )

    return insert


def _second_standard_label(study: Study, lead: User) -> Any:
    label = make_standard(study).labels.get()
    return StandardLabel.objects.create(
        standard=label.standard, trace=label.trace, status="ready", final_correct=True, provenance="x"
    )


def _bad_role(**fields: Any) -> Callable[[Study, User], Any]:
    def insert(study: Study, lead: User) -> Any:
        trace = make_trace(make_question(study))
        CriticalRole.objects.create(trace=trace, kind="substantive")
        return CriticalRole.objects.create(**{"trace": trace, "kind": "substantive", **fields})

    return insert


def _second_gap(*, of_trace: bool) -> Callable[[Study, User], Any]:
    def insert(study: Study, lead: User) -> Any:
        trace = make_trace(make_question(study)) if of_trace else None
        StatedGap.objects.create(study=study, trace=trace, reason="x")
        return StatedGap.objects.create(study=study, trace=trace, reason="y")

    return insert


def _second_opening(study: Study, lead: User) -> Any:
    opened = OpenedArguments.objects.create(dispute=make_dispute(study), person=lead)
    return OpenedArguments.objects.create(dispute=opened.dispute, person=lead)


def _second_guess(study: Study, lead: User) -> Any:
    guess = Guess.objects.create(decision=settle(make_dispute(study), lead), person=lead, source="human")
    return Guess.objects.create(decision=guess.decision, person=lead, source="")


BAD: dict[str, list[Callable[[Study, User], Any]]] = {
    "one standing dispute per trace": [_second_standing_dispute],
    "a dispute differs in something or a rule sent it": [
        _bad_dispute(differs_in_step=False),
        _bad_dispute(differs_in_step=False, by_rule="whim"),
    ],
    "a dispute has one of three states": [_bad_dispute(status="lost")],
    "one decision per dispute and revision": [_second_revision_1],
    "a decision states its rationale": [_bad_decision(rationale="")],
    "a ruling says right or wrong, an undo says nothing": [
        _bad_decision(final_correct=None),
        _bad_decision(choice="undo"),
        _bad_decision(choice="unusable", final_correct=None, first_error_step=2),
        _bad_decision(choice="guess"),
    ],
    "decision step is null or at least 1": [_bad_decision(first_error_step=0)],
    "decision range holds its step": [
        _bad_decision(first_error_step=2, first_error_step_min=3, first_error_step_max=4),
        _bad_decision(first_error_step=5, first_error_step_min=3, first_error_step_max=4),
        _bad_decision(first_error_step_min=3, first_error_step_max=4),
        _bad_decision(first_error_step=2, first_error_step_min=0, first_error_step_max=2),
    ],
    "a later decision supersedes an earlier one": [_bad_decision(revision=2)],
    "a consultation names whom it asked": [_nameless_consultation],
    "one standard per version": [_bad_standard(version=1)],
    "standards are counted from 1": [_bad_standard(version=0)],
    "a patched standard states its reason": [_bad_standard(parent="first")],
    "one standard label per trace": [_second_standard_label],
    "a ready label says whether the final answer is right": [_bad_standard_label(final_correct=None)],
    "a label that is not ready says why": [
        _bad_standard_label(status="excluded"),
        _bad_standard_label(status="unresolved"),
    ],
    "standard step is null or at least 1": [_bad_standard_label(first_error_step=0)],
    "standard range holds its step": [
        _bad_standard_label(first_error_step=2, first_error_step_min=3, first_error_step_max=4),
        _bad_standard_label(first_error_step_min=3, first_error_step_max=4),
    ],
    "one critical role per trace and revision": [_bad_role()],
    "a critical role is one of four, or taken back": [
        _bad_role(kind="other", revision=2),
        lambda study, lead: CriticalRole.objects.create(trace=make_trace(make_question(study)), kind=""),
    ],
    "one-arm traces go by one of four rules": [
        lambda study, lead: Rules.objects.create(study=study, one_arm="some")
    ],
    "a sample is 1 to 100 percent": [
        lambda study, lead: Rules.objects.create(study=study, sample_percent=0),
        lambda study, lead: Rules.objects.create(study=study, sample_percent=101),
    ],
    "the debate is expected, not, or once it began": [
        lambda study, lead: Rules.objects.create(study=study, debate_expected="soon")
    ],
    "one stated gap per trace": [_second_gap(of_trace=True)],
    "one stated gap for a whole study": [_second_gap(of_trace=False)],
    "a stated gap says why": [lambda study, lead: StatedGap.objects.create(study=study, reason="")],
    "arguments are opened once per lead and dispute": [_second_opening],
    "one guess per decision and person": [_second_guess],
    "a guess is human, debate or none": [
        lambda study, lead: Guess.objects.create(
            decision=settle(make_dispute(study), lead), person=lead, source="both"
        )
    ],
}


def _named_constraints() -> list[str]:
    return [
        constraint.name
        for model in apps.get_app_config("adjudication").get_models()
        for constraint in model._meta.constraints
    ]


@pytest.mark.parametrize("name", _named_constraints())
def test_the_database_refuses_the_bad_row(study: Study, adam: User, name: str) -> None:
    for insert in BAD[name]:
        with pytest.raises(IntegrityError) as refused, transaction.atomic():
            insert(make_study(), adam)
        message = str(refused.value)
        if "CHECK" in message or connection.vendor == "postgresql":
            assert name in message


def test_every_named_constraint_has_its_bad_rows() -> None:
    assert set(BAD) == set(_named_constraints())


def test_the_person_who_decided_stays(study: Study) -> None:
    lead = make_person("lena")
    settle(make_dispute(study), lead)
    with pytest.raises(models.ProtectedError):
        lead.delete()
