"""Labels of both arms, the guideline they were made under, and what keeps unfinished ones safe."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

from annotation.models.study import Question, Study, Trace


class GuidelineVersion(models.Model):
    """One version of a study's guideline. Final."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="guideline_versions")
    version = models.PositiveSmallIntegerField()
    text = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "version"], name="one guideline per version"),
            models.CheckConstraint(condition=Q(version__gte=1), name="guidelines are counted from 1"),
        ]
        ordering = ["study", "version"]

    def __str__(self) -> str:
        return f"{self.study_id} guideline v{self.version}"


class Label(models.Model):
    """One labeller's two judgements on a trace. Final: a change is a new row that supersedes this one.

    The current label of a labeller is the one that no row supersedes.
    """

    class Arm(models.TextChoices):
        HUMAN = "human"
        DEBATE = "debate"

    trace = models.ForeignKey(Trace, on_delete=models.PROTECT, related_name="labels")
    arm = models.CharField(max_length=10, choices=Arm)
    labeller = models.CharField(max_length=100)
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="labels"
    )
    final_correct = models.BooleanField()
    first_error_step = models.PositiveIntegerField(null=True)
    first_error_step_min = models.PositiveIntegerField(null=True)
    first_error_step_max = models.PositiveIntegerField(null=True)
    comment = models.TextField(blank=True)
    guideline = models.ForeignKey(
        GuidelineVersion, null=True, on_delete=models.PROTECT, related_name="labels"
    )
    active_seconds = models.PositiveIntegerField(null=True)
    revision = models.PositiveIntegerField(default=1)
    supersedes = models.OneToOneField(
        "self", null=True, on_delete=models.PROTECT, related_name="superseded_by"
    )
    source = models.CharField(max_length=200, help_text="`desk`, or the file and line this label came from")
    created_at = models.DateTimeField(
        default=timezone.now, editable=False, help_text="when it was made; an export that comes back keeps it"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["trace", "arm", "labeller", "revision"],
                name="one label per labeller, trace and revision",
            ),
            models.UniqueConstraint(
                fields=["trace", "arm", "labeller"],
                condition=Q(supersedes__isnull=True),
                name="one first label per labeller and trace",
            ),
            models.CheckConstraint(
                condition=Q(arm__in=["human", "debate"]), name="an arm is human or debate"
            ),
            models.CheckConstraint(
                condition=Q(first_error_step__isnull=True) | Q(first_error_step__gte=1),
                name="label step is null or at least 1",
            ),
            models.CheckConstraint(
                condition=Q(first_error_step_min__isnull=True, first_error_step_max__isnull=True)
                | Q(
                    # Stated, since a comparison with null is neither false nor refused.
                    first_error_step__isnull=False,
                    first_error_step_min__isnull=False,
                    first_error_step_max__isnull=False,
                    first_error_step_min__gte=1,
                    first_error_step_min__lte=F("first_error_step"),
                    first_error_step_max__gte=F("first_error_step"),
                ),
                name="label range holds its step",
            ),
            models.CheckConstraint(
                condition=Q(revision=1, supersedes__isnull=True)
                | Q(revision__gt=1, supersedes__isnull=False),
                name="a revised label supersedes an earlier one",
            ),
            models.CheckConstraint(
                condition=Q(person__isnull=True) | Q(arm="human"), name="a person labels in the human arm"
            ),
        ]
        indexes = [
            models.Index(fields=["labeller", "-created_at", "-id"], name="labels_of_a_person_by_time"),
            models.Index(
                fields=["trace"], condition=Q(arm="debate", revision=1), name="labels_of_the_debate"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.trace_id} {self.arm}:{self.labeller} r{self.revision}"


class Draft(models.Model):
    """What a person has entered for a trace and not yet submitted; `version` refuses late writers."""

    trace = models.ForeignKey(Trace, on_delete=models.CASCADE, related_name="drafts")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="drafts")
    version = models.PositiveIntegerField(default=1)
    content = models.JSONField(default=dict)
    saved_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["trace", "person"], name="one draft per person and trace")
        ]

    def __str__(self) -> str:
        return f"{self.trace_id} {self.person_id} v{self.version}"


class Reservation(models.Model):
    """A trace held for a person until a time, so that two people are not given the same one."""

    trace = models.ForeignKey(Trace, on_delete=models.CASCADE, related_name="reservations")
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="reservations"
    )
    expires_at = models.DateTimeField(db_index=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["trace", "person"], name="one reservation per person and trace")
        ]

    def __str__(self) -> str:
        return f"{self.trace_id} for {self.person_id}"


class Skip(models.Model):
    """A person's word that they cannot judge a trace: it is not offered to them again."""

    trace = models.ForeignKey(Trace, on_delete=models.CASCADE, related_name="skips")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="skips")
    reason = models.CharField(max_length=500)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["trace", "person"], name="one skip per person and trace"),
            models.CheckConstraint(condition=~Q(reason=""), name="a skip states its reason"),
        ]

    def __str__(self) -> str:
        return f"{self.trace_id} skipped by {self.person_id}"


class KeyReport(models.Model):
    """A person's word that a question's reference answer looks wrong."""

    question = models.ForeignKey(Question, on_delete=models.PROTECT, related_name="key_reports")
    reporter = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="key_reports"
    )
    reference_version = models.PositiveSmallIntegerField()
    reason = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["question", "reporter", "reference_version"],
                name="one key report per person and key version",
            ),
            models.CheckConstraint(condition=~Q(reason=""), name="a key report states its reason"),
        ]

    def __str__(self) -> str:
        return f"{self.question_id} v{self.reference_version} by {self.reporter_id}"
