"""Layer 3: what waits for an expert, and what experts said."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotation.models import Study, Trace
from annotation.models.study import new_token


class ExpertItem(models.Model):
    """A trace that needs an expert's judgement. While it is not settled the trace has no settled label."""

    class State(models.TextChoices):
        WAITING = "waiting"
        TAKEN = "taken"
        LEFT_OPEN = "left_open", "left open"
        SETTLED = "settled"

    token = models.CharField(max_length=24, unique=True, default=new_token, editable=False)
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="expert_items")
    trace = models.ForeignKey(Trace, on_delete=models.PROTECT, related_name="expert_items")
    reason = models.TextField()
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    taken_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="expert_items"
    )
    opened_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["trace"], condition=~Q(state="settled"), name="one standing expert item per trace"
            ),
            models.CheckConstraint(condition=~Q(reason=""), name="an expert item says why"),
            models.CheckConstraint(
                condition=Q(state__in=["waiting", "taken", "left_open", "settled"]),
                name="an expert item has one of four states",
            ),
            models.CheckConstraint(
                condition=~Q(state="taken") | Q(taken_by__isnull=False), name="a taken item has its expert"
            ),
        ]
        indexes = [models.Index(fields=["study", "state"], name="expert_item_by_state")]

    def __str__(self) -> str:
        return f"expert item {self.token}"


class ExpertRuling(models.Model):
    """What an expert said on an item. Final: a later ruling on the same item is a row of its own."""

    class Outcome(models.TextChoices):
        VALID = "valid"
        FAILED = "failed"
        UNRESOLVED = "unresolved"

    item = models.ForeignKey(ExpertItem, on_delete=models.PROTECT, related_name="rulings")
    outcome = models.CharField(max_length=10, choices=Outcome)
    step = models.PositiveIntegerField(null=True, help_text="where it fails")
    reason = models.TextField()
    expert = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="expert_rulings"
    )
    revision = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["item", "revision"], name="one expert ruling per revision"),
            models.CheckConstraint(condition=~Q(reason=""), name="an expert ruling states its reason"),
            models.CheckConstraint(
                condition=Q(outcome__in=["valid", "failed", "unresolved"]),
                name="an expert ruling is of a known kind",
            ),
            models.CheckConstraint(
                condition=Q(step__isnull=True) | Q(step__gte=1, outcome="failed"),
                name="an expert names a step only where it fails",
            ),
        ]
        ordering = ["item", "revision"]

    def __str__(self) -> str:
        return f"ruling {self.item_id} r{self.revision}"
