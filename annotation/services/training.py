"""The gate: judging its items one by one, and what follows from an attempt."""

from __future__ import annotations

from django.db import transaction

from annotation import training
from annotation.models import CheckItem, GateAnswer, GateResult, Membership, Study, TrainingPlan
from core import audit
from core.errors import Conflict, UserError
from core.models import User

MOST_ATTEMPTS = 100


class GateNotPassed(UserError):
    """The person must pass the gate before they read."""


class InvalidGateAnswer(UserError):
    """The judgements do not fit the item, or no attempt is left."""


def require_gate(*, study: Study, person: User) -> None:
    """Raise GateNotPassed for a person who has still to pass the study's gate."""
    if not training.may_read(study, person):
        raise GateNotPassed("Pass the training of this study first: a few solutions with known judgements.")


def set_plan(
    *, study: Study, answer_mark: int, step_mark: int, attempts: int, actor: User | None = None
) -> TrainingPlan:
    """Set the pass marks (percent) and the number of attempts; the same again is no change.

    Attempts that have ended keep the marks they were held to.
    """
    if not (0 <= answer_mark <= 100 and 0 <= step_mark <= 100):
        raise UserError("a pass mark is a percentage, 0 to 100")
    if not 1 <= attempts <= MOST_ATTEMPTS:
        raise UserError(f"the gate may be tried 1 to {MOST_ATTEMPTS} times")
    values = {"answer_mark": answer_mark, "step_mark": step_mark, "attempts": attempts}
    with transaction.atomic():
        plan = TrainingPlan.objects.filter(study=study).first()
        if plan is not None and all(getattr(plan, name) == value for name, value in values.items()):
            return plan
        plan, _ = TrainingPlan.objects.update_or_create(study=study, defaults=values)
        audit.record(
            scope=study.slug, actor=actor, action="training plan set", subject=study.slug, payload=values
        )
    return plan


def answer_gate(
    *, item: CheckItem, person: User, attempt: int, final_correct: bool, first_error_step: int | None
) -> GateAnswer:
    """Record a person's judgements on a gate item; with the last one the attempt ends.

    The same judgements again are no change. Raises InvalidGateAnswer for a step outside the trace or when the
    gate is passed or used up, Conflict when the item was judged otherwise in this attempt, or in another one.
    """
    steps = item.trace.n_steps
    if first_error_step is not None and not 1 <= first_error_step <= (steps or 0):
        raise InvalidGateAnswer(
            f"step {first_error_step} is not in this solution: its steps are 1 to {steps}"
        )
    study = item.study
    with transaction.atomic():
        # Two tabs that judge the last two items at once must not each miss the other's: one ends the attempt.
        list(Membership.objects.select_for_update().filter(study=study, person=person).order_by("pk"))
        held = GateAnswer.objects.filter(item=item, person=person, attempt=attempt).first()
        if held is not None:
            if (held.final_correct, held.first_error_step) == (final_correct, first_error_step):
                return held
            raise Conflict("you have judged this solution already; what you said first stands")
        gate = training.gate_of(study, person)
        if item.kind != CheckItem.Kind.GATE or gate.passed:
            raise InvalidGateAnswer("there is nothing to judge here any more: you have passed")
        if gate.exhausted:
            raise InvalidGateAnswer("no attempt is left; ask an administrator of the study")
        if attempt != gate.attempt:
            raise Conflict("this attempt has ended; open the training page again")
        answer = GateAnswer.objects.create(
            item=item,
            person=person,
            attempt=attempt,
            final_correct=final_correct,
            first_error_step=first_error_step,
        )
        _end_attempt(study, person, attempt)
    return answer


def _end_attempt(study: Study, person: User, attempt: int) -> None:
    """Record the result, if every item has been judged."""
    gate = training.gate_of(study, person)
    if gate.attempt != attempt or gate.next_item is not None:
        return
    items = len(gate.answers)
    right = sum(answer.answer_is_right for answer in gate.answers)
    steps = sum(answer.step_is_right for answer in gate.answers)
    plan = gate.plan
    passed = 100 * right >= plan.answer_mark * items and 100 * steps >= plan.step_mark * items
    GateResult.objects.create(
        study=study,
        person=person,
        attempt=attempt,
        items=items,
        answers_right=right,
        steps_right=steps,
        answer_mark=plan.answer_mark,
        step_mark=plan.step_mark,
        passed=passed,
    )
    audit.record(
        scope=study.slug,
        actor=person,
        action="gate passed" if passed else "gate not passed",
        subject=person.username,
        payload={"attempt": attempt, "items": items, "answers_right": right, "steps_right": steps},
    )
