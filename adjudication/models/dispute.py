"""Disputes between labels, and the lead's decisions on them."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from annotation.models import ReferenceAnswer, Study, Trace
from annotation.models.study import new_token


class Dispute(models.Model):
    """A trace whose current labels differ: in the answer, in the presence of an error, in its step.

    Or one that only one arm has labelled and that a rule sends to the lead (`by_rule`). While `awaits_labels`,
    labels that the study expects are not in, and it cannot be decided.
    """

    class Status(models.TextChoices):
        OPEN = "open"
        DECIDED = "decided"
        WITHDRAWN = "withdrawn"

    token = models.CharField(max_length=24, unique=True, default=new_token, editable=False)
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="disputes")
    trace = models.ForeignKey(Trace, on_delete=models.PROTECT, related_name="disputes")
    differs_in_answer = models.BooleanField(default=False)
    differs_in_presence = models.BooleanField(default=False)
    differs_in_step = models.BooleanField(default=False)
    by_rule = models.CharField(
        max_length=10, blank=True, help_text="the rule that sent a trace of one arm only to the lead"
    )
    awaits_labels = models.BooleanField(default=False)
    # Copies of what never changes, so that a list need not read every trace and question to sort or to search.
    words = models.TextField(
        blank=True, editable=False, help_text="the question's id and subject in small letters, a line each"
    )
    n_steps = models.PositiveIntegerField(null=True, editable=False)
    status = models.CharField(max_length=10, choices=Status, default=Status.OPEN)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["trace"], condition=~Q(status="withdrawn"), name="one standing dispute per trace"
            ),
            models.CheckConstraint(
                condition=Q(differs_in_answer=True)
                | Q(differs_in_presence=True)
                | Q(differs_in_step=True)
                | Q(by_rule__in=["all", "critical", "sample"]),
                name="a dispute differs in something or a rule sent it",
            ),
            models.CheckConstraint(
                condition=Q(status__in=["open", "decided", "withdrawn"]),
                name="a dispute has one of three states",
            ),
        ]
        indexes = [
            models.Index(fields=["study", "status", "token"], name="dispute_in_order"),
            # Everything that the counts of the list read, so that they need not touch the table.
            models.Index(
                fields=[
                    "study",
                    "status",
                    "awaits_labels",
                    "differs_in_answer",
                    "differs_in_presence",
                    "differs_in_step",
                ],
                name="dispute_counts",
            ),
        ]

    def __str__(self) -> str:
        return f"dispute {self.token}"

    @property
    def kinds(self) -> list[str]:
        """The kinds of difference, in fixed order: answer, presence, step; `single` for one proposal alone."""
        flags = {
            "answer": self.differs_in_answer,
            "presence": self.differs_in_presence,
            "step": self.differs_in_step,
        }
        return [kind for kind, differs in flags.items() if differs] or ["single"]


class Decision(models.Model):
    """The lead's ruling on a dispute. Final: undoing or changing it is a new row that supersedes this one.

    `proposals` is what the lead saw, values in masked order: [{"mark": "A", "final_correct": true,
    "first_error_step": 3}, ...]. A ruling of kind `undo` reopens the dispute and carries no values.
    """

    class Choice(models.TextChoices):
        PROPOSAL = "proposal"
        BOTH = "both"
        OTHER = "other"
        UNUSABLE = "unusable"
        UNDO = "undo"

    dispute = models.ForeignKey(Dispute, on_delete=models.PROTECT, related_name="decisions")
    choice = models.CharField(max_length=10, choices=Choice)
    chosen_mark = models.CharField(max_length=2, blank=True)
    final_correct = models.BooleanField(null=True)
    first_error_step = models.PositiveIntegerField(null=True)
    first_error_step_min = models.PositiveIntegerField(null=True)
    first_error_step_max = models.PositiveIntegerField(null=True)
    rationale = models.TextField()
    proposals = models.JSONField(default=list)
    key_is_wrong = models.BooleanField(default=False)
    corrected_answer = models.ForeignKey(
        ReferenceAnswer,
        null=True,
        on_delete=models.PROTECT,
        related_name="+",
        help_text="the version of the reference answer that this decision made",
    )
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="decisions"
    )
    revision = models.PositiveIntegerField(default=1)
    supersedes = models.OneToOneField(
        "self", null=True, on_delete=models.PROTECT, related_name="superseded_by"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["dispute", "revision"], name="one decision per dispute and revision"
            ),
            models.CheckConstraint(condition=~Q(rationale=""), name="a decision states its rationale"),
            models.CheckConstraint(
                condition=Q(choice__in=["proposal", "both", "other"], final_correct__isnull=False)
                | Q(
                    choice__in=["unusable", "undo"], final_correct__isnull=True, first_error_step__isnull=True
                ),
                name="a ruling says right or wrong, an undo says nothing",
            ),
            models.CheckConstraint(
                condition=Q(first_error_step__isnull=True) | Q(first_error_step__gte=1),
                name="decision step is null or at least 1",
            ),
            models.CheckConstraint(
                condition=Q(first_error_step_min__isnull=True, first_error_step_max__isnull=True)
                | Q(
                    # Stated, since a comparison with null is neither false nor refused.
                    first_error_step__isnull=False,
                    first_error_step_min__isnull=False,
                    first_error_step_max__isnull=False,
                    first_error_step_min__gte=1,
                    first_error_step_min__lte=F("first_error_step"),
                    first_error_step_max__gte=F("first_error_step"),
                ),
                name="decision range holds its step",
            ),
            models.CheckConstraint(
                condition=Q(revision=1, supersedes__isnull=True)
                | Q(revision__gt=1, supersedes__isnull=False),
                name="a later decision supersedes an earlier one",
            ),
        ]

    def __str__(self) -> str:
        return f"decision {self.dispute_id} r{self.revision}"


class Consultation(models.Model):
    """A model or person that the lead asked while deciding. Final."""

    decision = models.ForeignKey(Decision, on_delete=models.PROTECT, related_name="consultations")
    who = models.CharField(max_length=100)
    why = models.CharField(max_length=500)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~Q(who=""), name="a consultation names whom it asked")
        ]

    def __str__(self) -> str:
        return self.who
