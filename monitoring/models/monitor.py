"""Monitors: a model with its settings, or an offline baseline."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from annotation.models import Study
from annotation.models.study import IDENTIFIER


class Condition(models.TextChoices):
    """What a monitor is shown."""

    BLIND = "BLIND"
    HINT = "HINT"
    CERT = "CERT"
    REVISE = "REVISE"
    RCTRL = "RCTRL"
    STEP = "STEP"
    CMATCH = "CMATCH"
    CCONFLICT = "CCONFLICT"


class Monitor(models.Model):
    """A reader of traces. Keys are never stored: `key_env` names the environment variable that holds one."""

    class Provider(models.TextChoices):
        OPENAI_COMPATIBLE = "openai_compatible", "OpenAI-compatible"
        ANTHROPIC = "anthropic"
        GOOGLE = "google"
        SCRIPTED = "scripted"
        ORACLE = "oracle"
        ALWAYS = "always"
        NEVER = "never"
        RANDOM = "random"
        REPLAY = "replay"
        RULES = "rules"
        RELEASED = "released"

    ONLINE = (Provider.OPENAI_COMPATIBLE, Provider.ANTHROPIC, Provider.GOOGLE)

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="monitors")
    slug = models.CharField(max_length=100, validators=[IDENTIFIER])
    provider = models.CharField(max_length=20, choices=Provider)
    model = models.CharField(max_length=200, blank=True, help_text="the model's name at its provider")
    api_model = models.CharField(
        max_length=200, blank=True, help_text="the name that a release says was served"
    )
    base_url = models.CharField(max_length=300, blank=True)
    key_env = models.CharField(
        max_length=100, blank=True, help_text="name of the environment variable with the key"
    )
    temperature = models.FloatField(null=True, default=0.0)
    max_tokens = models.PositiveIntegerField(default=4000)
    reasoning_effort = models.CharField(max_length=20, blank=True)
    seed = models.BigIntegerField(null=True)
    json_mode = models.BooleanField(default=False)
    concurrency = models.PositiveIntegerField(default=16, help_text="requests in flight, over all workers")
    input_price = models.DecimalField(
        max_digits=12, decimal_places=6, null=True, help_text="USD per million input tokens"
    )
    output_price = models.DecimalField(
        max_digits=12, decimal_places=6, null=True, help_text="USD per million output tokens"
    )
    options = models.JSONField(
        default=dict, help_text="settings of its provider alone, such as the rate of an offline baseline"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "slug"], name="one monitor per slug and study"),
            models.CheckConstraint(
                condition=Q(concurrency__gte=1), name="a monitor has at least one request in flight"
            ),
            models.CheckConstraint(
                condition=(Q(input_price__isnull=True) | Q(input_price__gte=0))
                & (Q(output_price__isnull=True) | Q(output_price__gte=0)),
                name="a price is not negative",
            ),
        ]
        ordering = ["study", "slug"]

    def __str__(self) -> str:
        return self.slug

    @property
    def is_offline(self) -> bool:
        """Whether running it sends nothing over a network and costs nothing."""
        return self.provider not in self.ONLINE

    @property
    def has_price(self) -> bool:
        """Whether the price of a call can be told beforehand; offline baselines are free."""
        return self.is_offline or (self.input_price is not None and self.output_price is not None)


class Pace(models.Model):
    """How many requests of a monitor may be in flight just now, over all workers.

    What llm.limiter.AdaptiveLimit keeps, stored. Who claims a monitor's calls locks its row.
    """

    monitor = models.OneToOneField(Monitor, on_delete=models.CASCADE, related_name="pace")
    current = models.FloatField(null=True, help_text="null: as many as the monitor's concurrency")
    shrunk_at = models.DateTimeField(null=True)
    not_before = models.DateTimeField(null=True, help_text="no request leaves earlier: the provider asked so")

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(current__isnull=True) | Q(current__gte=1),
                name="a pace lets at least one request pass",
            ),
        ]

    def __str__(self) -> str:
        return f"pace of {self.monitor_id}"
