"""Studies, the people in them, questions with versioned reference answers, and traces cut into steps."""

from __future__ import annotations

import secrets
import uuid
from typing import Any

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q

IDENTIFIER = RegexValidator(
    r"^[A-Za-z0-9][A-Za-z0-9._-]*\Z", "letters, digits, dot, dash and underscore only"
)


def new_token() -> str:
    """Return a random name for an address: a key would tell the order of import, and so the generator."""
    return secrets.token_hex(10)


def new_masking_key() -> str:
    """Return the secret by which a study shuffles letters and proposals."""
    return secrets.token_hex(32)


def new_canary() -> str:
    """Return a string that stands nowhere else, by which texts of a study are known in another's data."""
    return f"falsestep-canary-{uuid.uuid4()}"


class Study(models.Model):
    """One project; everything else is scoped by it."""

    class Kind(models.TextChoices):
        PILOT = "pilot"
        MAIN = "main"

    class Coverage(models.TextChoices):
        COMPLETE = "complete", "every trace"
        STRATIFIED = "stratified", "a share of the questions of each subject"

    class Sharing(models.TextChoices):
        FREE = "free", "as they come"
        TOGETHER = "together", "all traces of a question to the same people"
        SPREAD = "spread", "traces of a question to different people as far as possible"

    slug = models.SlugField(max_length=60, unique=True)
    name = models.CharField(max_length=200)
    kind = models.CharField(max_length=10, choices=Kind, default=Kind.MAIN)
    masking_key = models.CharField(max_length=64, default=new_masking_key, editable=False)
    show_reference_answer = models.BooleanField(default=True)
    overlap = models.PositiveSmallIntegerField(
        default=1, help_text="labels wanted per trace from the human arm"
    )
    coverage = models.CharField(max_length=10, choices=Coverage, default=Coverage.COMPLETE)
    share = models.PositiveSmallIntegerField(
        default=100,
        help_text="percent of each subject's questions that people read, under stratified coverage",
    )
    sharing = models.CharField(max_length=10, choices=Sharing, default=Sharing.FREE)
    canary = models.CharField(
        max_length=60,
        unique=True,
        default=new_canary,
        editable=False,
        help_text="stands in every export with texts, so that training data that holds them can be told",
    )
    keep_replies_days = models.PositiveSmallIntegerField(
        null=True, help_text="days after which the texts of models' replies are removed; null keeps them"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "studies"
        constraints = [
            models.CheckConstraint(
                condition=Q(keep_replies_days__isnull=True) | Q(keep_replies_days__gte=1),
                name="replies are kept for at least a day",
            ),
            models.CheckConstraint(
                condition=Q(kind__in=["pilot", "main"]), name="a study is a pilot or a main one"
            ),
            models.CheckConstraint(
                condition=Q(overlap__gte=1), name="a study wants at least one label per trace"
            ),
            models.CheckConstraint(
                condition=Q(share__gte=1, share__lte=100), name="a share is 1 to 100 percent"
            ),
            models.CheckConstraint(
                condition=Q(coverage__in=["complete", "stratified"]),
                name="coverage is complete or stratified",
            ),
            models.CheckConstraint(
                condition=Q(sharing__in=["free", "together", "spread"]), name="sharing is one of three"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Role(models.TextChoices):
    """What a person does in a study; the same person may have several."""

    ANNOTATOR = "annotator"
    LEAD = "lead"
    ADMINISTRATOR = "administrator"


class Membership(models.Model):
    """One role of one person in one study."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="memberships")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="memberships")
    role = models.CharField(max_length=20, choices=Role)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "person", "role"], name="a role is given once"),
            models.CheckConstraint(
                condition=Q(role__in=["annotator", "lead", "administrator"]), name="a role is one of three"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.person} is {self.role} of {self.study}"


class Question(models.Model):
    """A problem statement; left out of every standard while it is excluded."""

    class Status(models.TextChoices):
        INCLUDED = "included"
        EXCLUDED = "excluded"

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="questions")
    external_id = models.CharField(max_length=100)
    statement = models.TextField(blank=True)
    rationale = models.TextField(blank=True)
    subject = models.CharField(max_length=100, blank=True)
    status = models.CharField(max_length=10, choices=Status, default=Status.INCLUDED)
    exclusion_reason = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "external_id"], name="one question per external id and study"
            ),
            models.CheckConstraint(
                condition=Q(status="included", exclusion_reason="")
                | (Q(status="excluded") & ~Q(exclusion_reason="")),
                name="a question is excluded exactly when a reason says why",
            ),
        ]

    def __str__(self) -> str:
        return self.external_id


class ReferenceAnswer(models.Model):
    """One version of a question's reference answer: 1 is the original, later ones are corrections. Final."""

    question = models.ForeignKey(Question, on_delete=models.PROTECT, related_name="reference_answers")
    version = models.PositiveSmallIntegerField(default=1)
    text = models.TextField()
    reason = models.TextField(blank=True)
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["question", "version"], name="one reference answer per version"),
            models.CheckConstraint(
                condition=Q(version=1) | (Q(version__gt=1) & ~Q(reason="")),
                name="a corrected reference answer states its reason",
            ),
        ]
        ordering = ["question", "version"]

    def __str__(self) -> str:
        return f"{self.question_id} v{self.version}"


class Trace(models.Model):
    """One generator's answer to a question, cut into steps numbered from 1. Final.

    `preamble` and `steps` joined give the text as it came. A text-free release brings neither, only
    `n_steps`, which is unknown (null) for traces that the release's standard does not list.
    """

    class Cut(models.TextChoices):
        NUMBERED = "numbered"
        LISTED = "listed"
        UNSEGMENTED = "unsegmented"
        TEXT_FREE = "text_free"

    token = models.CharField(max_length=24, unique=True, default=new_token, editable=False)
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="traces")
    question = models.ForeignKey(Question, on_delete=models.PROTECT, related_name="traces")
    response_label = models.CharField(max_length=60)
    generator = models.CharField(max_length=100, blank=True)
    cut = models.CharField(max_length=12, choices=Cut, default=Cut.NUMBERED)
    preamble = models.TextField(blank=True)
    steps: models.JSONField[list[str], list[str]] = models.JSONField(default=list)
    n_steps = models.PositiveIntegerField(null=True)
    sha256 = models.CharField(max_length=64)
    source = models.CharField(max_length=200, blank=True, help_text="the file this trace came from")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["question", "response_label"], name="one trace per question and response label"
            ),
            models.CheckConstraint(condition=Q(n_steps__gte=1), name="a trace has at least one step"),
            models.CheckConstraint(
                condition=Q(n_steps__isnull=False) | Q(cut="text_free"),
                name="the number of steps is unknown only without the text",
            ),
        ]
        indexes = [models.Index(fields=["study", "token"], name="trace_by_token")]

    def __str__(self) -> str:
        return f"{self.question_id}/{self.response_label}"

    @property
    def text(self) -> str:
        """The whole text: as it came for numbered traces, steps on lines of their own for listed ones."""
        if self.cut == self.Cut.LISTED:
            return "\n".join(self.steps)
        return self.preamble + "".join(self.steps)

    def numbered_steps(self) -> list[tuple[int, str]]:
        """Return (number from 1, text) of each step."""
        return list(enumerate(self.steps, start=1))

    def natural_key(self) -> tuple[Any, ...]:
        """Return (question external id, response label)."""
        return (self.question.external_id, self.response_label)
