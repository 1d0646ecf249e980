"""What a study settles about adjudication beforehand: one-arm traces, expected labels, arguments, blindness."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from annotation.models import Study, Trace


class Rules(models.Model):
    """One study's rules; a study without a row has the defaults."""

    class OneArm(models.TextChoices):
        NONE = "none", "none"
        ALL = "all", "all of them"
        CRITICAL = "critical", "the critical ones: answer right, with an error"
        SAMPLE = "sample", "a seeded sample"

    class Expected(models.TextChoices):
        AUTO = "auto", "once the debate arm has begun"
        YES = "yes", "on every trace"
        NO = "no", "not at all"

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="adjudication_rules")
    one_arm = models.CharField(
        max_length=10,
        choices=OneArm,
        default=OneArm.NONE,
        help_text="which traces of one arm only go to the lead",
    )
    sample_percent = models.PositiveSmallIntegerField(default=20)
    sample_seed = models.PositiveIntegerField(default=0)
    debate_expected = models.CharField(max_length=5, choices=Expected, default=Expected.AUTO)
    arguments_open = models.BooleanField(default=False, help_text="whether a lead may open the arguments")
    own_labels = models.BooleanField(
        default=False, help_text="whether a lead may settle a trace that they labelled themselves"
    )

    class Meta:
        verbose_name_plural = "rules"
        constraints = [
            models.CheckConstraint(
                condition=Q(one_arm__in=["none", "all", "critical", "sample"]),
                name="one-arm traces go by one of four rules",
            ),
            models.CheckConstraint(
                condition=Q(sample_percent__gte=1, sample_percent__lte=100),
                name="a sample is 1 to 100 percent",
            ),
            models.CheckConstraint(
                condition=Q(debate_expected__in=["auto", "yes", "no"]),
                name="the debate is expected, not, or once it began",
            ),
        ]

    def __str__(self) -> str:
        return f"rules of {self.study_id}"


class StatedGap(models.Model):
    """The lead's word that labels still expected will not come, of one trace or of the whole study. Final."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="stated_gaps")
    trace = models.ForeignKey(Trace, null=True, on_delete=models.PROTECT, related_name="stated_gaps")
    reason = models.CharField(max_length=500)
    stated_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["trace"], name="one stated gap per trace"),
            models.UniqueConstraint(
                fields=["study"], condition=Q(trace__isnull=True), name="one stated gap for a whole study"
            ),
            models.CheckConstraint(condition=~Q(reason=""), name="a stated gap says why"),
        ]

    def __str__(self) -> str:
        return f"gap of {self.trace_id or self.study_id}"
