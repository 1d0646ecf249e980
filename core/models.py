"""People, and the audit trail's rows."""

from __future__ import annotations

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models import Q


class User(AbstractUser):
    """A person who signs in; what they may do is said per study by annotation.Membership."""

    display_name = models.CharField(max_length=100, blank=True)

    def __str__(self) -> str:
        return self.display_name or self.username


class AuditChain(models.Model):
    """The head of one hash chain; its row is locked while an entry is appended, so that chains never fork."""

    scope = models.CharField(max_length=100, unique=True)
    length = models.PositiveIntegerField(default=0)
    head = models.CharField(max_length=64, default="0" * 64)

    def __str__(self) -> str:
        return f"{self.scope} ({self.length})"


class AuditEntry(models.Model):
    """One event: appended in the transaction of the change it tells of, never changed, never deleted."""

    chain = models.ForeignKey(AuditChain, on_delete=models.PROTECT, related_name="entries")
    sequence = models.PositiveIntegerField()
    at = models.DateTimeField()
    actor = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    actor_name = models.CharField(max_length=150)
    action = models.CharField(max_length=60)
    subject = models.CharField(max_length=200)
    payload = models.JSONField(default=dict)
    previous = models.CharField(max_length=64)
    digest = models.CharField(max_length=64)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["chain", "sequence"], name="one audit entry per place in a chain"
            ),
            models.CheckConstraint(condition=Q(sequence__gte=1), name="audit entries are counted from 1"),
        ]
        ordering = ["chain", "sequence"]

    def __str__(self) -> str:
        return f"{self.chain_id}/{self.sequence} {self.action} {self.subject}"
