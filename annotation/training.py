"""Reads of training and calibration: worked examples, where a person stands at the gate, hidden results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Exists, OuterRef

from annotation import masking
from annotation.models import (
    CheckItem,
    GateAnswer,
    GateResult,
    Label,
    Question,
    Skip,
    Study,
    Trace,
    TrainingPlan,
)
from annotation.queries import labeller_name, progress
from core.models import User

LEAST_OFTEN = 20


def plan_of(study: Study) -> TrainingPlan:
    """Return the study's pass marks, or those that stand in their place."""
    return TrainingPlan.objects.filter(study=study).first() or TrainingPlan(study=study)


def items_of(study: Study, kind: str) -> list[CheckItem]:
    """Return the check items of one kind in their order, with their traces and questions."""
    items = CheckItem.objects.filter(study=study, kind=kind)
    return list(items.select_related("trace__question").order_by("position", "pk"))


@dataclass(frozen=True)
class Gate:
    """Where a person stands at a study's gate. `answers` are those of the attempt under way."""

    plan: TrainingPlan
    items: list[CheckItem]
    attempt: int
    answers: list[GateAnswer]
    results: list[GateResult]

    @property
    def passed(self) -> bool:
        """Whether the person may read: the gate was passed, or there is none."""
        return not self.items or any(result.passed for result in self.results)

    @property
    def exhausted(self) -> bool:
        """Whether every attempt was used in vain."""
        return not self.passed and len(self.results) >= self.plan.attempts

    @property
    def next_item(self) -> CheckItem | None:
        """The item to judge next; None when the gate is passed or no attempt is left."""
        if self.passed or self.exhausted:
            return None
        answered = {answer.item_id for answer in self.answers}
        return next((item for item in self.items if item.pk not in answered), None)

    @property
    def place(self) -> int:
        """The number of the next item in this attempt."""
        return len(self.answers) + 1

    @property
    def attempts_left(self) -> int:
        """Attempts not yet ended."""
        return max(0, self.plan.attempts - len(self.results))


def gate_of(study: Study, person: User) -> Gate:
    """Return where the person stands at the gate; four queries."""
    items = items_of(study, CheckItem.Kind.GATE)
    results = list(GateResult.objects.filter(study=study, person=person).order_by("attempt"))
    attempt = results[-1].attempt + 1 if results else 1
    answers = GateAnswer.objects.filter(item__study=study, person=person, attempt=attempt)
    return Gate(plan_of(study), items, attempt, list(answers.select_related("item").order_by("pk")), results)


def may_read(study: Study, person: User) -> bool:
    """Whether the person has passed the study's gate, or the study has none; at most two queries."""
    return (
        GateResult.objects.filter(study=study, person=person, passed=True).exists()
        or not CheckItem.objects.filter(study=study, kind=CheckItem.Kind.GATE).exists()
    )


def results_of(study: Study) -> list[GateResult]:
    """Return every ended attempt at the gate, by person."""
    results = GateResult.objects.filter(study=study).select_related("person")
    return list(results.order_by("person__username", "attempt"))


def newest_answer(item: CheckItem, person: User) -> GateAnswer | None:
    """Return the person's judgement of an item in their newest attempt at it."""
    answers = GateAnswer.objects.filter(item=item, person=person).select_related("item")
    return answers.order_by("-attempt").first()


def item_counts(study: Study) -> dict[str, int]:
    """Return the number of check items of each kind."""
    found = CheckItem.objects.filter(study=study).order_by().values_list("kind").annotate(Count("pk"))
    return {**dict.fromkeys(CheckItem.Kind.values, 0), **dict(found)}


def hidden_next(study: Study, person: User) -> Trace | None:
    """Return the hidden item that comes before the person's next trace, None if none is due.

    Hidden items are shuffled among what is left for the person, each place being as likely, but come no
    rarer than one in LEAST_OFTEN; when nothing else is left, none comes. What is drawn depends on the study's
    secret and on how many traces the person has judged, so a repeated request gives the same.
    """
    name = labeller_name(person)
    said = Label.objects.filter(trace=OuterRef("trace"), arm=Label.Arm.HUMAN, labeller=name)
    waiting = list(
        CheckItem.objects.filter(
            ~Exists(said),
            ~Exists(Skip.objects.filter(trace=OuterRef("trace"), person=person)),
            study=study,
            kind=CheckItem.Kind.HIDDEN,
            trace__question__status=Question.Status.INCLUDED,
        ).values_list("trace", "trace__token")
    )
    if not waiting:
        return None
    state = progress(study, person)
    if state.left <= 0:
        return None
    judged = CheckItem.objects.filter(study=study, kind=CheckItem.Kind.HIDDEN).count() - len(waiting)
    drawn = int(masking.keyed(study, "hidden", name, state.mine + state.skipped + judged)[:8], 16) / 2**32
    if drawn >= max(len(waiting) / (len(waiting) + state.left), 1 / LEAST_OFTEN):
        return None
    key, _ = min(waiting, key=lambda item: masking.keyed(study, "hidden item", name, item[1]))
    return Trace.objects.get(pk=key)


@dataclass(frozen=True)
class HiddenResult:
    """How an annotator judged the hidden items: their first word on each counts."""

    judged: int
    answers_right: int
    steps_right: int


def hidden_results(study: Study) -> dict[str, HiddenResult]:
    """Return the results on hidden items by labeller; one query."""
    labels = Label.objects.filter(
        trace__study=study, trace__check_item__kind=CheckItem.Kind.HIDDEN, arm=Label.Arm.HUMAN, revision=1
    ).select_related("trace__check_item")
    found: dict[str, list[tuple[bool, bool]]] = {}
    for label in labels.defer("trace__steps", "trace__preamble"):
        item = label.trace.check_item
        found.setdefault(label.labeller, []).append(
            (label.final_correct == item.final_correct, item.step_is_right(label.first_error_step))
        )
    return {name: _summed(pairs) for name, pairs in found.items()}


def _summed(pairs: Sequence[tuple[bool, bool]]) -> HiddenResult:
    return HiddenResult(len(pairs), sum(answer for answer, _ in pairs), sum(step for _, step in pairs))
