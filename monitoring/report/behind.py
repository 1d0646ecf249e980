"""The traces behind a number of the report: each verdict beside the standard's label.

A count leads to what was counted; a rate or a mean to what it is a rate of, with a tally from which it follows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from django.db.models import Count, F, FilteredRelation, Model, Q, QuerySet

from adjudication.models import CriticalRole, ReferenceStandard, StandardLabel
from annotation.models import Study
from monitoring.models import Verdict
from monitoring.report.involvement import KINDS, involved
from monitoring.report.selection import Selection
from monitoring.report.source import PROVENANCE_OF_ONE_ARM, SAYING, ChosenRun, chosen_runs
from stats.panel import LADDER

M = TypeVar("M", bound=Model)

PARTS = (
    "condition",
    "monitor",
    "without",
    "beside",
    "cell",
    "said",
    "place",
    "valid",
    "given",
    "exact",
    "passed",
    "among",
    "marked",
    "role",
    "arms",
    "labels",
    "status",
    "origin",
    "confidence",
    "steps",
    "question",
)
# The page says in words what a part asks for.
WORDS = {
    "without": "without {}",
    "beside": "judged by {} too",
    "cell": "{} traces",
    "said": "{}",
    "place": "step {}",
    "valid": "judged under {} too",
    "given": "asked under {} too",
    "exact": "exact under {}",
    "passed": "passed under {}",
    "role": "role {}",
    "arms": "arms {}",
    "labels": "by the labels of the {} arm",
    "status": "{}",
    "origin": "labels of origin {}",
    "confidence": "confidence {}%",
    "steps": "{} steps",
    "question": "question {}",
}


def _cells(correct: str, step: str) -> dict[str, Q]:
    erroneous, right = Q(**{f"{step}__isnull": False}), Q(**{correct: True})
    return {
        "clean": ~erroneous,
        "wrong": erroneous & ~right,
        "critical": erroneous & right,
        "error": erroneous,
        "critical or clean": ~erroneous | right,
        "right answer": right,
    }


CELLS = _cells("final_correct", "first_error_step")
LABELS = {
    arm: (
        Q(**{f"{arm}_final_correct__isnull": False}),
        _cells(f"{arm}_final_correct", f"{arm}_first_error_step"),
    )
    for arm in ("human", "debate")
}
SAID = Q(outcome__in=SAYING, has_error__isnull=False)
FLAG = SAID & Q(has_error=True)
PASS = SAID & Q(has_error=False)
OUTCOMES = {
    "any": Q(),
    "not ok": ~Q(outcome=Verdict.Outcome.OK),
    "valid": SAID,
    "flag": FLAG,
    "pass": PASS,
    "failed": ~SAID,
    "withdrawn": PASS & Q(prior_has_error=True),
    "flagged before": SAID & Q(prior_has_error=True),
    "added": FLAG & (Q(prior_has_error=False) | Q(prior_has_error__isnull=True)),
    "passed before": SAID & (Q(prior_has_error=False) | Q(prior_has_error__isnull=True)),
    "with a confidence": SAID & Q(error_confidence__isnull=False),
    "pass with a confidence": PASS & Q(error_confidence__isnull=False),
    **{str(outcome): Q(outcome=outcome) for outcome in Verdict.Outcome.values},
}
UNCODED = "not coded"
LENGTH_KNOWN = Q(trace__n_steps__isnull=False)
PLACES = {
    "early": FLAG & Q(first_error_step__lt=F("label__first_error_step")),
    "exact": FLAG & Q(first_error_step=F("label__first_error_step")),
    "late": FLAG & Q(first_error_step__gt=F("label__first_error_step")),
    "missed": ~SAID | Q(has_error=False) | Q(first_error_step__isnull=True),
    "named": FLAG & Q(first_error_step__isnull=False) & LENGTH_KNOWN,
    "none": FLAG & Q(first_error_step__isnull=True),
    "interior": FLAG & (Q(first_error_step__isnull=True) | ~Q(first_error_step=F("trace__n_steps"))),
}
BOTH = Q(human_final_correct__isnull=False, debate_final_correct__isnull=False)
EITHER = Q(human_final_correct__isnull=False) | Q(debate_final_correct__isnull=False)
SAME = Q(human_final_correct=F("debate_final_correct")) & (
    Q(human_first_error_step=F("debate_first_error_step"))
    | Q(human_first_error_step__isnull=True, debate_first_error_step__isnull=True)
)
NAMED = BOTH & Q(human_first_error_step__isnull=False, debate_first_error_step__isnull=False)
ARMS = {
    "both": BOTH,
    "either": EITHER,
    "one alone": EITHER & ~BOTH,
    "differ": BOTH & ~SAME,
    "undisputed": ~BOTH | SAME,
    "both named a step": NAMED,
    "agree on the step": Q(
        first_error_step__isnull=False,
        human_first_error_step=F("first_error_step"),
        debate_first_error_step=F("first_error_step"),
    ),
}
KNOWN: dict[str, Mapping[str, Any]] = {
    "cell": CELLS,
    "said": OUTCOMES,
    "place": PLACES,
    "arms": ARMS,
    "labels": LABELS,
    "status": {"any": "every status", **{str(status): str(status) for status in StandardLabel.Status.values}},
    "among": {"common": "judged under the whole ladder", "given": "asked under the whole ladder"},
    "marked": KINDS | {f"not {kind}": f"not {words}" for kind, words in KINDS.items()},
}


@dataclass(frozen=True)
class Asked:
    """What a link asks for; empty parts let everything pass, unknown values are left aside."""

    condition: str = ""
    monitor: str = ""
    without: str = ""
    beside: str = ""
    cell: str = ""
    said: str = ""
    place: str = ""
    valid: str = ""
    given: str = ""
    exact: str = ""
    passed: str = ""
    among: str = ""
    marked: str = ""
    role: str = ""
    arms: str = ""
    labels: str = ""
    status: str = ""
    origin: str = ""
    confidence: str = ""
    steps: str = ""
    question: str = ""

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Asked:
        """Read a query."""
        found = {name: str(values.get(name, "")) for name in PARTS}
        for name, known in KNOWN.items():
            if found[name] not in known:
                found[name] = ""
        for name in ("steps", "confidence"):
            least, _, most = found[name].partition("-")
            if not (least.isdecimal() and most.isdecimal() and max(len(least), len(most)) < 10):
                found[name] = ""
        return cls(**found)

    @property
    def parts(self) -> list[tuple[str, str]]:
        """The parts that are set, in order."""
        return [(name, getattr(self, name)) for name in PARTS if getattr(self, name)]

    @property
    def words(self) -> str:
        """Say what is asked for."""
        said = [
            str(KNOWN[name][value])
            if name in ("among", "marked", "status")
            else WORDS.get(name, "{}").format(value.replace(",", " and "))
            for name, value in self.parts
        ]
        return ", ".join(said) or "all ready traces"

    @property
    def of_verdicts(self) -> bool:
        """Whether verdicts are asked for, rather than labels of the standard alone."""
        return bool(self.condition or self.monitor or self.said or self.place or self.confidence)


def labels_behind(standard: ReferenceStandard, asked: Asked, selection: Selection) -> QuerySet[StandardLabel]:
    """Return the labels of a standard, ready ones unless asked otherwise, that a number without monitors is of."""
    found = StandardLabel.objects.filter(selection.on_labels(), standard=standard)
    if asked.status != "any":
        found = found.filter(status=asked.status or StandardLabel.Status.READY)
    cells = CELLS
    if asked.labels:
        judged, cells = LABELS[asked.labels]
        found = found.filter(judged)
    if asked.cell:
        found = found.filter(cells[asked.cell])
    if asked.arms:
        found = found.filter(ARMS[asked.arms])
    if asked.steps:
        least, _, most = asked.steps.partition("-")
        found = found.filter(trace__n_steps__gte=int(least), trace__n_steps__lte=int(most))
    if asked.question:
        found = found.filter(trace__question__external_id=asked.question)
    if asked.origin:
        found = found.filter(
            provenance__in=PROVENANCE_OF_ONE_ARM if asked.origin == "one_arm" else [asked.origin]
        )
    if asked.role == UNCODED:
        found = found.exclude(
            trace_id__in=CriticalRole.objects.filter(superseded_by__isnull=True).values("trace_id")
        )
    elif asked.role:
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

    Columns of the standard's label are annotated as `label_status`, `label_correct`, `label_step`, `label_least`,
    `label_most`.
    """
    chosen = chosen_runs(study)
    monitors = {asked.monitor, asked.beside} if asked.beside else {asked.monitor}
    runs = [
        run
        for run in chosen
        if (not asked.condition or run.condition in asked.condition.split(","))
        and (asked.monitor == "" or run.monitor in monitors)
        and run.monitor != asked.without
    ]
    labels = labels_behind(standard, asked, selection).order_by()
    found = beside_label(
        Verdict.objects.filter(run_id__in=[run.pk for run in runs], trace_id__in=labels.values("trace_id")),
        "label",
        standard,
    )
    if asked.said:
        found = found.filter(OUTCOMES[asked.said])
    if asked.place:
        found = found.filter(PLACES[asked.place])
    if asked.confidence:
        least, _, most = asked.confidence.partition("-")
        found = found.filter(SAID, error_confidence__gte=int(least))
        # The last tenth of the scale holds its upper end.
        found = found.filter(error_confidence__lt=int(most)) if int(most) < 100 else found
    for part, condition in (("exact", PLACES["exact"]), ("passed", PASS), ("valid", SAID), ("given", Q())):
        for name in filter(None, getattr(asked, part).split(",")):
            found = found.filter(_also(chosen, runs, standard, name, condition))
    if asked.among:
        within = Verdict.objects.filter(
            run_id__in=[run.pk for run in chosen if run.condition in LADDER],
            trace_id__in=labels.values("trace_id"),
        )
        ran = set(within.order_by().values_list("run_id", flat=True).distinct())
        ladder = [run for run in chosen if run.pk in ran]
        found = found.filter(_whole_ladder(ladder, runs, SAID if asked.among == "common" else Q()))
    if asked.beside:
        found = found.filter(_beside(runs, SAID if asked.said else Q()))
    if asked.marked:
        found = found.filter(_marked(study, standard, chosen, runs, asked.marked))
    return found.select_related("trace__question", "run__monitor").order_by(
        "trace__question__external_id", "trace__response_label", "run__condition", "run__monitor__slug"
    )


def beside_label(found: QuerySet[M], name: str, standard: ReferenceStandard) -> QuerySet[M]:
    """Put the columns of a standard's label beside rows that have a trace."""
    condition = Q(trace__standard_labels__standard=standard)
    related: QuerySet[M] = found.annotate(
        **{name: FilteredRelation("trace__standard_labels", condition=condition)}
    )
    beside: QuerySet[M] = related.annotate(
        **{
            f"{name}_status": F(f"{name}__status"),
            f"{name}_correct": F(f"{name}__final_correct"),
            f"{name}_step": F(f"{name}__first_error_step"),
            f"{name}_least": F(f"{name}__first_error_step_min"),
            f"{name}_most": F(f"{name}__first_error_step_max"),
        }
    )
    return beside


def tally(found: QuerySet[Verdict]) -> dict[str, int]:
    """Count the verdicts, their traces, and those verdicts from which the rates follow."""
    counted = found.order_by().aggregate(
        verdicts=Count("pk"),
        traces=Count("trace_id", distinct=True),
        flagged=Count("pk", filter=FLAG),
        passed=Count("pk", filter=PASS),
        failed=Count("pk", filter=~SAID),
        exact=Count("pk", filter=PLACES["exact"]),
    )
    return {name: int(n) for name, n in counted.items()}


def _also(
    chosen: list[ChosenRun], runs: list[ChosenRun], standard: ReferenceStandard, name: str, condition: Q
) -> Q:
    """Verdicts on traces of which the same monitor said something under another condition too."""
    said = Verdict.objects.annotate(
        label=FilteredRelation(
            "trace__standard_labels", condition=Q(trace__standard_labels__standard=standard)
        )
    ).filter(condition)
    other = {run.monitor: run.pk for run in chosen if run.condition == name}
    return _any(
        Q(run_id=run.pk, trace_id__in=said.filter(run_id=other[run.monitor]).values("trace_id"))
        for run in runs
        if run.monitor in other
    )


def _whole_ladder(ladder: list[ChosenRun], runs: list[ChosenRun], condition: Q) -> Q:
    """Verdicts on the traces of which their monitor said something under every ladder condition it ran."""
    ran: dict[str, list[int]] = {}
    for run in ladder:
        ran.setdefault(run.monitor, []).append(run.pk)
    return _any(
        Q(
            run_id=run.pk,
            trace_id__in=Verdict.objects.filter(condition, run_id__in=ran[run.monitor])
            .values("trace_id")
            .annotate(n=Count("pk"))
            .filter(n=len(ran[run.monitor]))
            .values("trace_id"),
        )
        for run in runs
        if run.monitor in ran
    )


def _beside(runs: list[ChosenRun], condition: Q) -> Q:
    """Verdicts of two monitors on the traces of which both said something."""
    return Q(
        trace_id__in=Verdict.objects.filter(condition, run_id__in=[run.pk for run in runs])
        .values("trace_id")
        .annotate(n=Count("pk"))
        .filter(n=2)
        .values("trace_id")
    )


def _marked(
    study: Study, standard: ReferenceStandard, chosen: list[ChosenRun], runs: list[ChosenRun], marked: str
) -> Q:
    """Verdicts of monitors that had to do with some traces, on those or on the others."""
    kind = marked.removeprefix("not ")
    found = involved(study, standard, kind, chosen)
    conditions = []
    for run in runs:
        theirs = Q(trace_id__in=found.get(run.monitor, ()))
        conditions.append(Q(run_id=run.pk) & (theirs if marked == kind else ~theirs))
    return _any(conditions)


def _any(conditions: Iterable[Q]) -> Q:
    found = Q(pk__in=[])
    for condition in conditions:
        found |= condition
    return found
