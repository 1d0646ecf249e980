"""The five rounds of the debate arm, as data: what each was given and what it said."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from annotation.models.study import Trace


class DebateRound(models.Model):
    """One round of the debate on one trace. Final. Shown to nobody before the trace is decided."""

    class Name(models.TextChoices):
        R1 = "R1", "first reading"
        R2 = "R2", "attack"
        R3 = "R3", "reply"
        BLIND = "blind", "second reading, without the first"
        CONSENSUS = "consensus", "consensus"

    trace = models.ForeignKey(Trace, on_delete=models.PROTECT, related_name="debate_rounds")
    name = models.CharField(max_length=10, choices=Name)
    model = models.CharField(max_length=200)
    given = models.JSONField(default=dict, help_text="what the round was told besides question and trace")
    said = models.JSONField(default=dict, help_text="the fields of its reply")
    cost = models.DecimalField(max_digits=12, decimal_places=6, null=True, help_text="USD")
    source = models.CharField(max_length=200, help_text="the file and line, or the run, it came from")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["trace", "name"], name="one debate round per name and trace"),
            models.CheckConstraint(
                condition=Q(name__in=["R1", "R2", "R3", "blind", "consensus"]),
                name="a debate round is one of five",
            ),
            models.CheckConstraint(
                condition=Q(cost__isnull=True) | Q(cost__gte=0), name="a debate round costs nothing or more"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.trace_id} {self.name}"
