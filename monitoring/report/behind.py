"""The traces behind a number of the report: each verdict beside the standard's label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import F, FilteredRelation, Q, QuerySet

from adjudication.models import ReferenceStandard, StandardLabel
from annotation.models import Study
from monitoring.models import Verdict
from monitoring.report.selection import Selection
from monitoring.report.source import SAYING, chosen_runs

PARTS = ("condition", "monitor", "cell", "said", "place", "role", "arms", "question")
CELLS = {
    "clean": Q(first_error_step__isnull=True),
    "wrong": Q(first_error_step__isnull=False, final_correct=False),
    "critical": Q(first_error_step__isnull=False, final_correct=True),
    "error": Q(first_error_step__isnull=False),
}
SAID = Q(outcome__in=SAYING, has_error__isnull=False)
FLAG = SAID & Q(has_error=True)
OUTCOMES = {
    "flag": FLAG,
    "pass": SAID & Q(has_error=False),
    "failed": ~SAID,
    "withdrawn": SAID & Q(has_error=False, prior_has_error=True),
    "added": FLAG & (Q(prior_has_error=False) | Q(prior_has_error__isnull=True)),
    **{str(outcome): Q(outcome=outcome) for outcome in Verdict.Outcome.values},
}
PLACES = {
    "early": FLAG & Q(first_error_step__lt=F("label__first_error_step")),
    "exact": FLAG & Q(first_error_step=F("label__first_error_step")),
    "late": FLAG & Q(first_error_step__gt=F("label__first_error_step")),
    "missed": ~SAID | Q(has_error=False) | Q(first_error_step__isnull=True),
}
ARMS = {
    "both": Q(human_final_correct__isnull=False, debate_final_correct__isnull=False),
    "differ": Q(human_final_correct__isnull=False, debate_final_correct__isnull=False)
    & (
        ~Q(human_final_correct=F("debate_final_correct"))
        | ~Q(human_first_error_step=F("debate_first_error_step"))
        | Q(human_first_error_step__isnull=True, debate_first_error_step__isnull=False)
        | Q(human_first_error_step__isnull=False, debate_first_error_step__isnull=True)
    )
    & ~Q(
        human_final_correct=F("debate_final_correct"),
        human_first_error_step__isnull=True,
        debate_first_error_step__isnull=True,
    ),
}


@dataclass(frozen=True)
class Asked:
    """What a link asks for; empty parts let everything pass, unknown values are left aside."""

    condition: str = ""
    monitor: str = ""
    cell: str = ""
    said: str = ""
    place: str = ""
    role: str = ""
    arms: str = ""
    question: str = ""

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Asked:
        """Read a query."""
        found = {name: str(values.get(name, "")) for name in PARTS}
        for name, known in (("cell", CELLS), ("said", OUTCOMES), ("place", PLACES), ("arms", ARMS)):
            if found[name] not in known:
                found[name] = ""
        return cls(**found)

    @property
    def parts(self) -> list[tuple[str, str]]:
        """The parts that are set, in order."""
        return [(name, getattr(self, name)) for name in PARTS if getattr(self, name)]

    @property
    def of_verdicts(self) -> bool:
        """Whether verdicts are asked for, rather than labels of the standard alone."""
        return bool(self.condition or self.monitor or self.said or self.place)


def labels_behind(standard: ReferenceStandard, asked: Asked, selection: Selection) -> QuerySet[StandardLabel]:
    """Return the ready labels of a standard that a number without monitors is made of."""
    found = StandardLabel.objects.filter(
        selection.on_labels(), standard=standard, status=StandardLabel.Status.READY
    )
    if asked.cell:
        found = found.filter(CELLS[asked.cell])
    if asked.arms:
        found = found.filter(ARMS[asked.arms])
    if asked.question:
        found = found.filter(trace__question__external_id=asked.question)
    if asked.role:
        found = found.filter(
            trace__critical_roles__kind=asked.role, trace__critical_roles__superseded_by__isnull=True
        )
    return found.select_related("trace__question").order_by(
        "trace__question__external_id", "trace__response_label"
    )


def verdicts_behind(
    study: Study, standard: ReferenceStandard, asked: Asked, selection: Selection
) -> QuerySet[Verdict]:
    """Return the verdicts of the report's runs that a number is made of, each with `label`'s columns beside it.

    Columns of the standard's label are annotated as `label_correct`, `label_step`, `label_least`, `label_most`.
    """
    runs = [
        run.pk
        for run in chosen_runs(study)
        if asked.condition in ("", run.condition) and asked.monitor in ("", run.monitor)
    ]
    traces = labels_behind(standard, asked, selection).order_by().values("trace_id")
    found = (
        Verdict.objects.filter(run_id__in=runs, trace_id__in=traces)
        .annotate(
            label=FilteredRelation(
                "trace__standard_labels", condition=Q(trace__standard_labels__standard=standard)
            )
        )
        .annotate(
            label_correct=F("label__final_correct"),
            label_step=F("label__first_error_step"),
            label_least=F("label__first_error_step_min"),
            label_most=F("label__first_error_step_max"),
        )
    )
    if asked.said:
        found = found.filter(OUTCOMES[asked.said])
    if asked.place:
        found = found.filter(PLACES[asked.place])
    return found.select_related("trace__question", "run__monitor").order_by(
        "trace__question__external_id", "trace__response_label", "run__condition", "run__monitor__slug"
    )
