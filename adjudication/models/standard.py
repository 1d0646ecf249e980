"""Reference standards: frozen, hashed, numbered versions of a study's labels."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from annotation.models import GuidelineVersion, ReferenceAnswer, Study, Trace


class ReferenceStandard(models.Model):
    """One frozen version. Final, with its rows: a correction is a new version with this one as its parent."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="standards")
    version = models.PositiveIntegerField()
    sha256 = models.CharField(max_length=64)
    parent = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="patches")
    note = models.TextField(blank=True)
    guideline = models.ForeignKey(GuidelineVersion, null=True, on_delete=models.PROTECT, related_name="+")
    frozen_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    imported = models.BooleanField(
        default=False, help_text="whether a release brought it: its labels then stand by the release's word"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "version"], name="one standard per version"),
            models.CheckConstraint(condition=Q(version__gte=1), name="standards are counted from 1"),
            models.CheckConstraint(
                condition=Q(parent__isnull=True) | ~Q(note=""), name="a patched standard states its reason"
            ),
        ]
        ordering = ["study", "version"]

    def __str__(self) -> str:
        return f"standard {self.version}"


class StandardLabel(models.Model):
    """A trace's label in a standard, with what each arm had said and where the label came from. Final."""

    class Status(models.TextChoices):
        READY = "ready"
        EXCLUDED = "excluded"
        UNRESOLVED = "unresolved"

    class Cell(models.TextChoices):
        CLEAN = "clean"
        WRONG = "wrong"
        CRITICAL = "critical"

    standard = models.ForeignKey(ReferenceStandard, on_delete=models.PROTECT, related_name="labels")
    trace = models.ForeignKey(Trace, on_delete=models.PROTECT, related_name="standard_labels")
    status = models.CharField(max_length=10, choices=Status)
    status_reason = models.CharField(max_length=500, blank=True)
    final_correct = models.BooleanField(null=True)
    first_error_step = models.PositiveIntegerField(null=True)
    first_error_step_min = models.PositiveIntegerField(null=True)
    first_error_step_max = models.PositiveIntegerField(null=True)
    provenance = models.CharField(
        max_length=60,
        help_text="both_arms_agree, human_only, debate_only, adjudicated, patched, or a release's own word",
    )
    human_final_correct = models.BooleanField(null=True)
    human_first_error_step = models.PositiveIntegerField(null=True)
    debate_final_correct = models.BooleanField(null=True)
    debate_first_error_step = models.PositiveIntegerField(null=True)
    reference_answer = models.ForeignKey(
        ReferenceAnswer, null=True, on_delete=models.PROTECT, related_name="+"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["standard", "trace"], name="one standard label per trace"),
            models.CheckConstraint(
                condition=~Q(status="ready") | Q(final_correct__isnull=False),
                name="a ready label says whether the final answer is right",
            ),
            models.CheckConstraint(
                condition=Q(status="ready") | ~Q(status_reason=""), name="a label that is not ready says why"
            ),
            models.CheckConstraint(
                condition=Q(first_error_step__isnull=True) | Q(first_error_step__gte=1),
                name="standard step is null or at least 1",
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
                name="standard range holds its step",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.standard_id}: {self.trace_id}"

    @property
    def cell(self) -> str | None:
        """clean (no error), wrong (answer wrong too) or critical (answer right); None if not ready."""
        if self.status != self.Status.READY:
            return None
        if self.first_error_step is None:
            return self.Cell.CLEAN
        return self.Cell.CRITICAL if self.final_correct else self.Cell.WRONG


class CriticalRole(models.Model):
    """What a critical trace's error has to do with its conclusion, coded by the lead after the freeze. Final.

    A blank kind takes the coding back.
    """

    class Kind(models.TextChoices):
        REPAIRED = "repaired_or_exploratory", "Repaired or exploratory"
        SUPPLEMENTARY = "supplementary_claim", "Supplementary claim"
        ROBUST = "robust_numerical_or_algebraic", "Robust numerical or algebraic"
        SUBSTANTIVE = "substantive", "Substantive"

    trace = models.ForeignKey(Trace, on_delete=models.PROTECT, related_name="critical_roles")
    kind = models.CharField(max_length=40, choices=Kind, blank=True)
    coded_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    revision = models.PositiveIntegerField(default=1)
    supersedes = models.OneToOneField(
        "self", null=True, on_delete=models.PROTECT, related_name="superseded_by"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["trace", "revision"], name="one critical role per trace and revision"
            ),
            models.CheckConstraint(
                condition=Q(
                    kind__in=[
                        "repaired_or_exploratory",
                        "supplementary_claim",
                        "robust_numerical_or_algebraic",
                        "substantive",
                    ]
                )
                | Q(kind="", revision__gt=1),
                name="a critical role is one of four, or taken back",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.trace_id}: {self.kind}"
