"""What is known of a trace besides its text: how it was made, what was submitted with it, checks and flags."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from annotation.models import Trace


class Status(models.TextChoices):
    """What can be said of an obligation or a check; unverified is not false, unresolved waits for a person."""

    VALID = "valid"
    FAILED = "failed"
    UNVERIFIED = "unverified"
    UNRESOLVED = "unresolved"


STATUS_NAMES = ["valid", "failed", "unverified", "unresolved"]


class ExecutionRecord(models.Model):
    """How a trace was made: its tool calls and attempts. Final.

    `calls` is [{"tool", "environment"?, "arguments"?, "result"?, "step"?, "attempt"?, "seconds"?}, ...] in order.
    """

    trace = models.OneToOneField(Trace, on_delete=models.PROTECT, related_name="execution")
    calls = models.JSONField(default=list)
    attempts = models.PositiveIntegerField(null=True)
    elapsed_seconds = models.FloatField(null=True)
    source = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(elapsed_seconds__isnull=True) | Q(elapsed_seconds__gte=0),
                name="elapsed time is not negative",
            ),
        ]

    def __str__(self) -> str:
        return f"execution of {self.trace_id}"


class CertificateSubmission(models.Model):
    """A certificate that came with a trace, with the programme that it is of. Final."""

    trace = models.OneToOneField(Trace, on_delete=models.PROTECT, related_name="certificate")
    programme = models.JSONField()
    certificate = models.JSONField()
    source = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"certificate of {self.trace_id}"


class CheckResult(models.Model):
    """The outcome of one check of layer 1, computed anew whenever the checks are run."""

    class Column(models.TextChoices):
        CORRECTNESS = "correctness"
        COMPLIANCE = "compliance"
        EFFICIENCY = "efficiency"

    trace = models.ForeignKey(Trace, on_delete=models.CASCADE, related_name="checks")
    name = models.CharField(max_length=100)
    column = models.CharField(max_length=12, choices=Column)
    status = models.CharField(max_length=12, choices=Status)
    rejects = models.BooleanField(default=False)
    step = models.PositiveIntegerField(null=True)
    reason = models.TextField()
    checked_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["trace", "name"], name="one result per trace and check"),
            models.CheckConstraint(
                condition=Q(status__in=STATUS_NAMES), name="a check has one of four states"
            ),
            models.CheckConstraint(
                condition=Q(column__in=["correctness", "compliance", "efficiency"]),
                name="a check stands in one of three columns",
            ),
            models.CheckConstraint(condition=~Q(reason=""), name="a check states its reason"),
            models.CheckConstraint(
                condition=Q(rejects=False) | Q(status="failed"), name="only a failed check rejects"
            ),
        ]
        indexes = [
            models.Index(fields=["trace"], condition=Q(status="unresolved"), name="checks_left_to_a_person")
        ]

    def __str__(self) -> str:
        return f"{self.trace_id} {self.name}: {self.status}"


class Flag(models.Model):
    """A concern that a model raised, tied to one step, tool reply or intermediate value. Final, never a verdict."""

    class Kind(models.TextChoices):
        INSUFFICIENT_EVIDENCE = "insufficient_evidence", "insufficient evidence"
        MISAPPLIED_RULE = "misapplied_rule", "rule misapplied"
        EXCEEDS_PREMISES = "exceeds_premises", "conclusion exceeds its premises"
        GAP = "gap", "gap in the reasoning"

    trace = models.ForeignKey(Trace, on_delete=models.PROTECT, related_name="flags")
    kind = models.CharField(max_length=24, choices=Kind)
    concern = models.TextField()
    step = models.PositiveIntegerField(null=True)
    call = models.PositiveIntegerField(null=True, help_text="number of the tool call, counted from 1")
    value = models.CharField(max_length=500, blank=True, help_text="an intermediate value as written")
    raised_by = models.CharField(max_length=100, help_text="the model and the version of its instructions")
    fingerprint = models.CharField(max_length=64, help_text="sha256 of what the flag says and of who says it")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~Q(concern=""), name="a flag states its concern"),
            models.CheckConstraint(
                condition=Q(step__isnull=False, step__gte=1, call__isnull=True, value="")
                | Q(step__isnull=True, call__isnull=False, call__gte=1, value="")
                | (Q(step__isnull=True, call__isnull=True) & ~Q(value="")),
                name="a flag is tied to a step, a call or a value",
            ),
            models.CheckConstraint(
                condition=Q(kind__in=["insufficient_evidence", "misapplied_rule", "exceeds_premises", "gap"]),
                name="a flag is of a known kind",
            ),
            models.UniqueConstraint(fields=["trace", "fingerprint"], name="a flag is raised once"),
        ]

    def __str__(self) -> str:
        return f"{self.trace_id} {self.kind}"

    @property
    def tie(self) -> str:
        """What the flag is tied to, in words."""
        if self.step is not None:
            return f"step {self.step}"
        return f"tool call {self.call}" if self.call is not None else f"the value {self.value}"
