"""What a lead learnt of the sources and when: arguments opened before, a guess and its answer after."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from adjudication.models.dispute import Decision, Dispute


class OpenedArguments(models.Model):
    """A lead opened the rewritten arguments of a dispute before deciding it. Final."""

    dispute = models.ForeignKey(Dispute, on_delete=models.PROTECT, related_name="opened_arguments")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "opened arguments"
        constraints = [
            models.UniqueConstraint(
                fields=["dispute", "person"], name="arguments are opened once per lead and dispute"
            )
        ]

    def __str__(self) -> str:
        return f"arguments of {self.dispute_id}"


class Guess(models.Model):
    """What a lead, after deciding, took proposal A for; with it the sources were shown. Final.

    `source` is blank where the lead would rather not guess.
    """

    class Source(models.TextChoices):
        HUMAN = "human"
        DEBATE = "debate"

    decision = models.ForeignKey(Decision, on_delete=models.PROTECT, related_name="guesses")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    source = models.CharField(max_length=10, choices=Source, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "guesses"
        constraints = [
            models.UniqueConstraint(fields=["decision", "person"], name="one guess per decision and person"),
            models.CheckConstraint(
                condition=Q(source__in=["human", "debate", ""]), name="a guess is human, debate or none"
            ),
        ]

    def __str__(self) -> str:
        return f"guess on {self.decision_id}"
