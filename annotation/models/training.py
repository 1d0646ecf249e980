"""Training and calibration: solutions whose judgement is known, and what people said of them."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from annotation.models.study import Study, Trace


class CheckItem(models.Model):
    """A solution set apart, with the judgement expected of it. It never counts in anything else.

    Worked examples are shown with their explanation; gate items are answered before the first trace; hidden
    ones come along in the queue. Both bounds null: no false step is expected.
    """

    class Kind(models.TextChoices):
        WORKED = "worked"
        GATE = "gate"
        HIDDEN = "hidden"

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="check_items")
    trace = models.OneToOneField(Trace, on_delete=models.PROTECT, related_name="check_item")
    kind = models.CharField(max_length=10, choices=Kind)
    final_correct = models.BooleanField()
    first_error_step_min = models.PositiveIntegerField(null=True)
    first_error_step_max = models.PositiveIntegerField(null=True)
    explanation = models.TextField(blank=True)
    position = models.PositiveIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(kind__in=["worked", "gate", "hidden"]),
                name="a check item is of one of three kinds",
            ),
            models.CheckConstraint(
                condition=Q(first_error_step_min__isnull=True, first_error_step_max__isnull=True)
                | Q(
                    # Said in full: a comparison with null is no refusal.
                    first_error_step_min__isnull=False,
                    first_error_step_max__isnull=False,
                    first_error_step_min__gte=1,
                    first_error_step_max__gte=F("first_error_step_min"),
                ),
                name="a check item expects a range of steps or none",
            ),
            models.CheckConstraint(
                condition=Q(kind="hidden") | ~Q(explanation=""),
                name="a check item that people see explains itself",
            ),
        ]
        ordering = ["study", "kind", "position", "pk"]

    def __str__(self) -> str:
        return f"{self.kind} {self.trace_id}"

    @property
    def expects_error(self) -> bool:
        """Whether a false step is expected."""
        return self.first_error_step_min is not None

    def step_is_right(self, step: int | None) -> bool:
        """Whether a first false step (None: no error) is one that was expected."""
        low, high = self.first_error_step_min, self.first_error_step_max
        if step is None or low is None or high is None:
            return step is None and low is None
        return low <= step <= high


class TrainingPlan(models.Model):
    """What a study asks at its gate: the shares of right judgements in percent, and how often one may try."""

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="training_plan")
    answer_mark = models.PositiveSmallIntegerField(default=80)
    step_mark = models.PositiveSmallIntegerField(default=60)
    attempts = models.PositiveSmallIntegerField(default=3)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(answer_mark__lte=100, step_mark__lte=100), name="pass marks are percentages"
            ),
            models.CheckConstraint(condition=Q(attempts__gte=1), name="the gate may be tried once at least"),
        ]

    def __str__(self) -> str:
        return f"{self.study_id}: {self.answer_mark}/{self.step_mark}"


class GateAnswer(models.Model):
    """A person's judgements on one gate item in one attempt. Final."""

    item = models.ForeignKey(CheckItem, on_delete=models.PROTECT, related_name="answers")
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="gate_answers"
    )
    attempt = models.PositiveSmallIntegerField()
    final_correct = models.BooleanField()
    first_error_step = models.PositiveIntegerField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["item", "person", "attempt"], name="one gate answer per item, person and attempt"
            ),
            models.CheckConstraint(condition=Q(attempt__gte=1), name="gate attempts are counted from 1"),
            models.CheckConstraint(
                condition=Q(first_error_step__isnull=True) | Q(first_error_step__gte=1),
                name="gate step is null or at least 1",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.item_id} {self.person_id} attempt {self.attempt}"

    @property
    def answer_is_right(self) -> bool:
        """Whether the final answer was judged as expected."""
        return self.final_correct == self.item.final_correct

    @property
    def step_is_right(self) -> bool:
        """Whether the first false step was judged as expected."""
        return self.item.step_is_right(self.first_error_step)


class GateResult(models.Model):
    """How one attempt at the gate ended. Final: a gate once passed stays passed."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="gate_results")
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="gate_results"
    )
    attempt = models.PositiveSmallIntegerField()
    items = models.PositiveIntegerField()
    answers_right = models.PositiveIntegerField()
    steps_right = models.PositiveIntegerField()
    answer_mark = models.PositiveSmallIntegerField()
    step_mark = models.PositiveSmallIntegerField()
    passed = models.BooleanField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "person", "attempt"], name="one gate result per person and attempt"
            ),
            models.CheckConstraint(
                condition=Q(items__gte=1, answers_right__lte=F("items"), steps_right__lte=F("items")),
                name="no more gate judgements are right than were made",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.person_id} attempt {self.attempt}: {'passed' if self.passed else 'not passed'}"
