"""Requests outside of batches: rounds of the debate, traces to be generated, concerns about traces."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from annotation.models import Study


class Inquiry(models.Model):
    """One paid request, written before it leaves and completed once. `key` says what it is for.

    At most one request of a key is under way: who is killed leaves it unfinished, and whoever comes next closes
    it as abandoned before it asks again. A reply that is here is never paid for twice.
    """

    class Kind(models.TextChoices):
        DEBATE = "debate"
        GENERATION = "generation"
        CONCERNS = "concerns"

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="inquiries")
    kind = models.CharField(max_length=12, choices=Kind)
    key = models.CharField(max_length=200)
    number = models.PositiveSmallIntegerField()
    owner = models.CharField(max_length=120)
    model = models.CharField(max_length=200)
    messages = models.JSONField(default=list)
    reserved = models.DecimalField(max_digits=14, decimal_places=8, default=0)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)
    reply = models.TextField(blank=True)
    finish_reason = models.CharField(max_length=40, blank=True)
    served_model = models.CharField(max_length=200, blank=True)
    input_tokens = models.PositiveIntegerField(null=True)
    output_tokens = models.PositiveIntegerField(null=True)
    cost = models.DecimalField(max_digits=14, decimal_places=8, default=0)
    latency_ms = models.PositiveIntegerField(null=True)
    error_kind = models.CharField(max_length=20, blank=True)
    error = models.TextField(blank=True)
    reply_sha256 = models.CharField(  # noqa: DJ001 - null, so that the column comes without rewriting the table
        max_length=64, null=True, help_text="of the reply, kept when its text is removed"
    )
    reply_removed_at = models.DateTimeField(null=True, help_text="by the retention rule of the study")

    class Meta:
        verbose_name_plural = "inquiries"
        constraints = [
            models.UniqueConstraint(
                fields=["study", "kind", "key", "number"], name="one inquiry per number and key"
            ),
            models.UniqueConstraint(
                fields=["study", "kind", "key"],
                condition=Q(finished_at__isnull=True),
                name="one inquiry of a key under way",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.key} #{self.number}"
