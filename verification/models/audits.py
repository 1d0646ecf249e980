"""Audits of answer keys: proposals with every score that would change, and whether somebody accepted them."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotation.models import Study


class KeyAudit(models.Model):
    """One audit: the rule, what it was run on, and its tables. Final; it changes nothing by itself."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="key_audits")
    number = models.PositiveIntegerField()
    title = models.CharField(max_length=200)
    rule = models.JSONField()
    source = models.JSONField(default=dict)
    summary = models.JSONField(default=dict)
    of_study = models.BooleanField(
        default=False, help_text="the responses are the study's own traces: their models are hidden"
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "number"], name="one key audit per number"),
            models.CheckConstraint(condition=Q(number__gte=1), name="key audits are counted from 1"),
            models.CheckConstraint(condition=~Q(title=""), name="a key audit has a title"),
        ]
        ordering = ["study", "number"]

    def __str__(self) -> str:
        return f"{self.study_id} key audit {self.number}"


class AuditedResponse(models.Model):
    """One stored response of an audited cell, its score before and after, and why. Final."""

    audit = models.ForeignKey(KeyAudit, on_delete=models.PROTECT, related_name="responses")
    item = models.CharField(max_length=200)
    model = models.CharField(max_length=200)
    key = models.TextField()
    response = models.TextField(blank=True)
    before = models.BooleanField()
    after = models.BooleanField()
    reason = models.TextField()
    extracted = models.TextField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["audit", "item", "model"], name="one audited response per item and model"
            ),
        ]
        ordering = ["audit", "item", "model"]

    def __str__(self) -> str:
        return f"{self.audit_id} {self.item} {self.model}"


class AuditDecision(models.Model):
    """Somebody's word on an audit: accepted, so that its scores are in force from then on, or not. Final."""

    audit = models.OneToOneField(KeyAudit, on_delete=models.PROTECT, related_name="decision")
    accepted = models.BooleanField()
    reason = models.TextField()
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~Q(reason=""), name="a decision on an audit says why")
        ]

    def __str__(self) -> str:
        return f"{self.audit_id} {'accepted' if self.accepted else 'rejected'}"
