"""What a standard's card tells beside its counts: agreement, exclusions, consulted, open items, blindness."""

from __future__ import annotations

import math
from dataclasses import dataclass

from django.db.models import Count, F, Q

from adjudication.models import Consultation, Decision, ReferenceStandard, StandardLabel
from stats import Reference, Resample, TraceRow, arm_agreement


@dataclass(frozen=True)
class Measure:
    """One statistic of agreement; `value` is None where it is undefined."""

    name: str
    value: float | None
    n: int


@dataclass(frozen=True)
class Agreement:
    """How far the arms agree on the traces that both judged; symmetric in the arms. No intervals here."""

    joint: int
    one_arm_only: int
    measures: tuple[Measure, ...]


def agreement_of(standard: ReferenceStandard) -> Agreement:
    """Compare what the arms had said on the ready traces of a standard."""
    rows = standard.labels.filter(status=StandardLabel.Status.READY).values_list(
        "trace__question__external_id",
        "trace__response_label",
        "trace__n_steps",
        "final_correct",
        "first_error_step",
        "human_final_correct",
        "human_first_error_step",
        "debate_final_correct",
        "debate_first_error_step",
    )
    reference = Reference.from_rows(
        [
            TraceRow(
                question=row[0],
                label=row[1],
                n_steps=row[2],
                final_correct=bool(row[3]),
                step=row[4],
                human_final_correct=row[5],
                human_step=row[6],
                debate_final_correct=row[7],
                debate_step=row[8],
            )
            for row in rows
        ]
    )
    found = arm_agreement(reference, Resample(reference.n_questions, resamples=0))
    measures = []
    for name, binary in (
        ("final answer right or wrong", found.final_correct),
        ("an error or none", found.error_presence),
    ):
        measures += [
            Measure(f"{name}: agreement", _number(binary.percent[0]), binary.n),
            Measure(f"{name}: Cohen's kappa", _number(binary.kappa[0]), binary.n),
            Measure(f"{name}: Krippendorff's alpha", _number(binary.alpha[0]), binary.n),
            Measure(f"{name}: Gwet's AC1", _number(binary.ac1[0]), binary.n),
        ]
    both = found.both_named_step
    measures += [
        Measure("the same step, where both named one", _number(found.exact_step[0]), both),
        Measure("within one step", _number(found.step_within_one[0]), both),
        Measure("the same step by chance", _number(found.chance_step[0]), both),
    ]
    return Agreement(found.joint, found.one_arm_only, tuple(measures))


def consulted_for(standard: ReferenceStandard) -> list[tuple[str, int]]:
    """Return whom leads had consulted for the rulings in force when it was frozen, with how many rulings."""
    at = standard.created_at
    superseded = Q(decision__superseded_by__isnull=False, decision__superseded_by__created_at__lte=at)
    rows = (
        Consultation.objects.filter(
            decision__dispute__study=standard.study_id,
            decision__created_at__lte=at,
            decision__dispute__trace__in=standard.labels.filter(provenance="adjudicated").values("trace"),
        )
        .exclude(superseded)
        .values_list("who")
        .annotate(rulings=Count("decision", distinct=True))
        .order_by("who")
    )
    return list(rows)


def opened_before(standard: ReferenceStandard) -> tuple[int, int]:
    """Return (rulings in force at the freeze, those before which their lead had opened the arguments)."""
    at = standard.created_at
    rulings = Decision.objects.filter(dispute__study=standard.study_id, created_at__lte=at).exclude(
        choice=Decision.Choice.UNDO
    )
    rulings = rulings.exclude(superseded_by__isnull=False, superseded_by__created_at__lte=at)
    opened = rulings.filter(
        dispute__opened_arguments__person=F("decided_by"),
        dispute__opened_arguments__created_at__lte=F("created_at"),
    )
    return rulings.count(), opened.count()


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
