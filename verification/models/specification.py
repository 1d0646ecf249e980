"""What a question asks for: assumptions, target, obligations and limits in versions, with rules and mappings."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotation.models import Question, Trace
from verification.models.evidence import STATUS_NAMES, Status


class TaskSpecification(models.Model):
    """One version of a question's task specification. Final: a change is a new version.

    `assumptions` is [text, ...]; `obligations` is [{"id", "text", "needs": [id, ...]}, ...], acyclic; `tools` and
    `environments` list what is permitted (null: not restricted); `limits` holds max_calls, max_attempts,
    max_seconds. Restrictions bind only traces that came later.
    """

    question = models.ForeignKey(Question, on_delete=models.PROTECT, related_name="specifications")
    version = models.PositiveSmallIntegerField(default=1)
    assumptions = models.JSONField(default=list)
    target = models.TextField(blank=True)
    obligations = models.JSONField(default=list)
    tools = models.JSONField(null=True)
    environments = models.JSONField(null=True)
    limits = models.JSONField(default=dict)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    source = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["question", "version"], name="one specification per version"),
            models.CheckConstraint(condition=Q(version__gte=1), name="specifications are counted from 1"),
        ]
        ordering = ["question", "version"]

    def __str__(self) -> str:
        return f"{self.question_id} specification v{self.version}"


class Rule(models.Model):
    """One rule of layer 1 in a specification: a comparator of the final answer, or a deliverable. Final."""

    class Kind(models.TextChoices):
        FINAL_ANSWER = "final_answer"
        DELIVERABLE = "deliverable"
        CERTIFICATE = "certificate"

    specification = models.ForeignKey(TaskSpecification, on_delete=models.PROTECT, related_name="rules")
    name = models.CharField(max_length=80)
    kind = models.CharField(max_length=12, choices=Kind)
    spec = models.JSONField(default=dict)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["specification", "name"], name="one rule per name and specification"
            ),
            models.CheckConstraint(
                condition=Q(kind__in=["final_answer", "deliverable", "certificate"]),
                name="a rule is of a known kind",
            ),
        ]
        ordering = ["specification", "name"]

    def __str__(self) -> str:
        return f"{self.specification_id} {self.name}"


class ObligationMapping(models.Model):
    """Which steps of a trace discharge an obligation, and how that stands. Final: a change supersedes."""

    trace = models.ForeignKey(Trace, on_delete=models.PROTECT, related_name="mappings")
    specification = models.ForeignKey(TaskSpecification, on_delete=models.PROTECT, related_name="mappings")
    obligation = models.CharField(max_length=60)
    steps = models.JSONField(default=list)
    status = models.CharField(max_length=12, choices=Status)
    reason = models.TextField(blank=True)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    source = models.CharField(max_length=200)
    revision = models.PositiveIntegerField(default=1)
    supersedes = models.OneToOneField(
        "self", null=True, on_delete=models.PROTECT, related_name="superseded_by"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["trace", "specification", "obligation", "revision"],
                name="one mapping per trace, obligation and revision",
            ),
            models.CheckConstraint(
                condition=Q(status__in=STATUS_NAMES), name="a mapping has one of four states"
            ),
            models.CheckConstraint(
                condition=~Q(status="failed") | ~Q(reason=""), name="a failed obligation says why"
            ),
            models.CheckConstraint(
                condition=Q(revision=1, supersedes__isnull=True)
                | Q(revision__gt=1, supersedes__isnull=False),
                name="a later mapping supersedes an earlier one",
            ),
        ]
        indexes = [
            models.Index(fields=["trace"], condition=Q(status="unresolved"), name="mappings_left_to_a_person")
        ]

    def __str__(self) -> str:
        return f"{self.trace_id} {self.obligation}: {self.status}"
