"""Chunks of calls handed to a provider's batch API, each under one handle."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from monitoring.models.batch import Run


class ProviderBatch(models.Model):
    """Calls of one run that were handed in together. Their leases are held in its name until it is over."""

    class Status(models.TextChoices):
        SUBMITTING = "submitting"
        WAITING = "waiting"
        OVER = "over"

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="provider_batches")
    tag = models.CharField(max_length=40, unique=True)
    handle = models.CharField(max_length=200, blank=True)
    status = models.CharField(max_length=12, choices=Status, default=Status.SUBMITTING)
    n_calls = models.PositiveIntegerField(default=0)
    lease_until = models.DateTimeField(null=True, help_text="until when somebody is handing it in")
    next_poll_at = models.DateTimeField(null=True)
    polls = models.PositiveIntegerField(default=0)
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "provider batches"
        constraints = [
            models.CheckConstraint(
                condition=~Q(status="waiting") | (~Q(handle="") & Q(next_poll_at__isnull=False)),
                name="a provider batch that waits has a handle and a time to look",
            ),
        ]

    def __str__(self) -> str:
        return self.tag

    @property
    def owner(self) -> str:
        """The name under which its calls are leased."""
        return f"provider-batch:{self.tag}"
