"""Computed reports, kept by what they were computed from."""

from __future__ import annotations

from django.db import models

from adjudication.models import ReferenceStandard
from annotation.models import Study


class StoredReport(models.Model):
    """One computed report, or the order for it; the key covers standard, verdicts, options and code.

    `content` has a `state`: `ordered` (with who and when), `failed` (with the reason), or `ready` (with the
    document as JSON text and the convention it follows).
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="reports")
    standard = models.ForeignKey(ReferenceStandard, on_delete=models.PROTECT, related_name="reports")
    key = models.CharField(max_length=64)
    content = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["study", "key"], name="one stored report per key")]

    def __str__(self) -> str:
        return f"report on {self.standard_id}"
