"""The richer instrument of a pilot study: what a label says beyond its two judgements."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from annotation.models.label import Label


class Coherence(models.TextChoices):
    """Whether the solution hangs together as an argument, its truth apart."""

    COHERENT = "coherent", "coherent"
    PARTLY = "partly", "partly coherent"
    INCOHERENT = "incoherent", "incoherent"


class ErrorType(models.TextChoices):
    """What kind of error the first false step is."""

    CONCEPTUAL = "conceptual", "conceptual: the wrong physics or principle"
    MATHEMATICAL = "mathematical", "mathematical: a false derivation"
    NUMERICAL = "numerical", "numerical: arithmetic, units, constants"
    MISREADING = "misreading", "misreading: another problem than the one asked"
    UNSUPPORTED = "unsupported", "unsupported: a claim without grounds that is false"
    OTHER = "other", "other"


class PilotJudgement(models.Model):
    """The richer judgements of one label in a pilot study; either may be missing. Final, with its label."""

    label = models.OneToOneField(Label, on_delete=models.PROTECT, related_name="pilot")
    coherence = models.CharField(max_length=12, choices=Coherence, blank=True)
    error_type = models.CharField(max_length=12, choices=ErrorType, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(coherence__in=["", "coherent", "partly", "incoherent"]),
                name="coherence is one of three",
            ),
            models.CheckConstraint(
                condition=Q(
                    error_type__in=[
                        "",
                        "conceptual",
                        "mathematical",
                        "numerical",
                        "misreading",
                        "unsupported",
                        "other",
                    ]
                ),
                name="a kind of error is one of six",
            ),
            models.CheckConstraint(
                condition=~Q(coherence="", error_type=""), name="a pilot judgement says something"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.label_id}: {self.coherence or '-'} {self.error_type or '-'}"
