"""What the queue keeps count of, so that no page has to count a study's labels again.

Counts follow from traces, labels and skips: annotation.services.tally keeps them, and
`manage.py rebuild_progress` counts them anew.
"""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from annotation.models.study import Question, Study, Trace


class TraceProgress(models.Model):
    """How many labels of people a trace has and how many are wanted (0: nobody is to read it)."""

    trace = models.OneToOneField(
        Trace, primary_key=True, on_delete=models.CASCADE, related_name="progress", db_index=False
    )
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+", db_index=False)
    question = models.ForeignKey(Question, on_delete=models.CASCADE, related_name="+")
    token = models.CharField(max_length=24)
    included = models.BooleanField(
        default=True, help_text="its question is not excluded, and it is no check item"
    )
    readable = models.BooleanField(default=True, help_text="it came with its text")
    priority = models.PositiveSmallIntegerField(default=0, help_text="higher is handed out first")
    wanted = models.PositiveSmallIntegerField(default=0)
    labels = models.PositiveIntegerField(default=0)

    class Meta:
        indexes = [
            models.Index(
                fields=["study", "priority", "token"],
                name="open_traces_in_order",
                condition=Q(labels__lt=F("wanted")),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.trace_id}: {self.labels} of {self.wanted}"


class StudyProgress(models.Model):
    """Counts of a study's traces.

    Of those that people are to read: all (`total`), `labelled` by somebody, `complete` with all labels wanted.
    Of included questions, whether or not people read them: `included`, `readable` with a text, `human` with a
    label of the human arm.
    """

    study = models.OneToOneField(Study, primary_key=True, on_delete=models.CASCADE, related_name="progress")
    total = models.PositiveIntegerField(default=0)
    labelled = models.PositiveIntegerField(default=0)
    complete = models.PositiveIntegerField(default=0)
    included = models.PositiveIntegerField(default=0)
    readable = models.PositiveIntegerField(default=0)
    human = models.PositiveIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.study_id}: {self.complete} of {self.total}"


class PersonProgress(models.Model):
    """Counts of one labeller's traces, and how far they have come in their own order.

    `mine`: traces that people read with a label of theirs; `passed`: those labelled or skipped by them that
    others may still get. `cursor` and `until` bound the block of their order that they are in: what stands before
    it was taken, labelled or skipped.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+")
    labeller = models.CharField(max_length=100)
    mine = models.PositiveIntegerField(default=0)
    passed = models.PositiveIntegerField(default=0)
    cursor = models.CharField(max_length=40, blank=True)
    until = models.CharField(max_length=40, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "labeller"], name="one progress per labeller and study")
        ]

    def __str__(self) -> str:
        return f"{self.labeller}: {self.mine}"


class Assignment(models.Model):
    """A question of which a person has been given a trace; studies that keep or spread questions go by it."""

    question = models.ForeignKey(Question, on_delete=models.CASCADE, related_name="assignments")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["question", "person"], name="a question is assigned once")
        ]

    def __str__(self) -> str:
        return f"{self.question_id} to {self.person_id}"


class Pause(models.Model):
    """A person who gets no traces until the pause ends, by an administrator's word."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="pauses")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    reason = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "person"], name="a person is paused once per study")
        ]

    def __str__(self) -> str:
        return f"{self.person_id} paused"
