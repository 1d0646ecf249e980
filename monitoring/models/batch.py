"""Batches, runs, calls, attempts and verdicts: the truth of the engine; the broker only wakes workers."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from adjudication.models import ReferenceStandard
from annotation.models import Study, Trace
from annotation.models.study import new_token
from monitoring.models.monitor import Condition, Monitor


class Batch(models.Model):
    """Monitors times conditions on one standard, with a budget in USD."""

    class Status(models.TextChoices):
        RUNNING = "running"
        PAUSED = "paused"
        CANCELLED = "cancelled"
        FINISHED = "finished"

    token = models.CharField(max_length=24, unique=True, default=new_token, editable=False)
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="batches")
    standard = models.ForeignKey(ReferenceStandard, on_delete=models.PROTECT, related_name="batches")
    number = models.PositiveIntegerField()
    status = models.CharField(max_length=10, choices=Status, default=Status.RUNNING)
    status_reason = models.CharField(max_length=300, blank=True)
    max_cost = models.DecimalField(max_digits=12, decimal_places=6, null=True)
    reserved = models.DecimalField(max_digits=14, decimal_places=8, default=0)
    spent = models.DecimalField(max_digits=14, decimal_places=8, default=0)
    launched_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    source = models.CharField(
        max_length=200, blank=True, help_text="the release its verdicts were imported from"
    )
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name_plural = "batches"
        constraints = [
            models.UniqueConstraint(fields=["study", "number"], name="one batch per number and study"),
            models.CheckConstraint(
                condition=Q(status__in=["running", "paused", "cancelled", "finished"]),
                name="a batch has one of four states",
            ),
            models.CheckConstraint(
                condition=Q(reserved__gte=0) & Q(spent__gte=0), name="a budget is never negative"
            ),
        ]
        ordering = ["study", "number"]

    def __str__(self) -> str:
        return f"batch {self.number}"


class Run(models.Model):
    """One monitor under one condition, with the prompt and the settings it used."""

    class Status(models.TextChoices):
        RUNNING = "running"
        FINISHED = "finished"
        CANCELLED = "cancelled"

    batch = models.ForeignKey(Batch, on_delete=models.PROTECT, related_name="runs")
    monitor = models.ForeignKey(Monitor, on_delete=models.PROTECT, related_name="runs")
    condition = models.CharField(max_length=10, choices=Condition)
    status = models.CharField(max_length=10, choices=Status, default=Status.RUNNING)
    prompt_version = models.CharField(max_length=20, blank=True)
    prompt_sha256 = models.CharField(max_length=64, blank=True)
    settings = models.JSONField(default=dict, help_text="the monitor's settings when the run was launched")
    prior_run = models.ForeignKey(
        "self",
        null=True,
        on_delete=models.PROTECT,
        related_name="follow_ups",
        help_text="the BLIND run whose verdicts REVISE and RCTRL go on from",
    )
    n_calls = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["batch", "monitor", "condition"], name="one run per batch, monitor and condition"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.batch_id}: {self.monitor_id} {self.condition}"


class RunCount(models.Model):
    """How many rows of a run are in a state, so that nobody counts them: triggers keep it (_counts.py).

    They change in the transaction of what they count, whoever writes it. A state that none is in any more has 0.
    """

    class Kind(models.TextChoices):
        CALL = "call", "calls, by status"
        VERDICT = "verdict", "verdicts, by outcome"
        ERROR = "error", "failed attempts, by kind"
        COST = "cost", "what the attempts cost, in 1e-8 USD"

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="counts")
    kind = models.CharField(max_length=10, choices=Kind)
    name = models.CharField(max_length=20, blank=True)
    number = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "kind", "name"], name="one count per run, kind and name"),
        ]

    def __str__(self) -> str:
        return f"{self.run_id}: {self.number} {self.kind} {self.name}"


class Call(models.Model):
    """One prompt to be answered: a whole trace, or one prefix of it (`step`) under STEP.

    Claimed by a conditional update from pending to running with a lease, before any money is spent. It waits
    while another call must be answered first; if that makes it needless, it is skipped and never asked.
    """

    class Status(models.TextChoices):
        WAITING = "waiting"
        SKIPPED = "skipped"
        PENDING = "pending"
        RUNNING = "running"
        DONE = "done"
        CANCELLED = "cancelled"

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="calls")
    trace = models.ForeignKey(Trace, on_delete=models.PROTECT, related_name="calls")
    step = models.PositiveIntegerField(null=True)
    certificate_source = models.ForeignKey(Trace, null=True, on_delete=models.PROTECT, related_name="+")
    status = models.CharField(max_length=10, choices=Status, default=Status.PENDING)
    lease_owner = models.CharField(max_length=120, blank=True)
    lease_until = models.DateTimeField(null=True)
    not_before = models.DateTimeField(null=True, help_text="a retry waits until then")
    attempts_made = models.PositiveSmallIntegerField(default=0)
    failures = models.PositiveSmallIntegerField(
        default=0, help_text="failed requests since the launch, or since the last order to try again"
    )
    invalid_replies = models.PositiveSmallIntegerField(
        default=0, help_text="replies without a verdict that led to another try"
    )
    reserved = models.DecimalField(max_digits=14, decimal_places=8, default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run", "trace"],
                condition=Q(step__isnull=True),
                name="one whole-trace call per run and trace",
            ),
            models.UniqueConstraint(
                fields=["run", "trace", "step"],
                condition=Q(step__isnull=False),
                name="one prefix call per run, trace and step",
            ),
            models.CheckConstraint(
                condition=Q(step__isnull=True) | Q(step__gte=1), name="call step is null or at least 1"
            ),
            models.CheckConstraint(
                condition=Q(status="running", lease_until__isnull=False)
                | (~Q(status="running") & Q(lease_until__isnull=True)),
                name="a call is leased exactly while it runs",
            ),
        ]
        indexes = [
            models.Index(fields=["run", "status"], name="call_by_status"),
            models.Index(fields=["lease_until"], condition=Q(status="running"), name="call_by_lease"),
            models.Index(fields=["run", "id"], condition=Q(status="pending"), name="call_to_claim"),
        ]

    def __str__(self) -> str:
        return f"call {self.pk}"


class Attempt(models.Model):
    """One request, written before it leaves and completed once with what came back.

    Final when finished, but for one change: retention may take the reply's text away, once, leaving its hash.
    """

    call = models.ForeignKey(Call, on_delete=models.PROTECT, related_name="attempts")
    number = models.PositiveSmallIntegerField()
    owner = models.CharField(max_length=120)
    messages = models.JSONField(default=list)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)
    reply = models.TextField(blank=True)
    finish_reason = models.CharField(max_length=40, blank=True)
    served_model = models.CharField(max_length=200, blank=True)
    input_tokens = models.PositiveIntegerField(null=True)
    output_tokens = models.PositiveIntegerField(null=True)
    cost = models.DecimalField(max_digits=14, decimal_places=8, default=0)
    latency_ms = models.PositiveIntegerField(null=True)
    error_kind = models.CharField(
        max_length=20, blank=True, help_text="transient, rate_limit, permanent or abandoned"
    )
    error = models.TextField(blank=True)
    reply_sha256 = models.CharField(  # noqa: DJ001 - null, so that the column comes without rewriting the table
        max_length=64, null=True, help_text="of the reply, kept when its text is removed"
    )
    reply_removed_at = models.DateTimeField(null=True, help_text="by the retention rule of the study")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["call", "number"], name="one attempt per number and call"),
            models.CheckConstraint(condition=Q(number__gte=1), name="attempts are counted from 1"),
        ]
        indexes = [models.Index(fields=["id"], condition=~Q(error_kind=""), name="attempt_that_failed")]

    def __str__(self) -> str:
        return f"attempt {self.number} of call {self.call_id}"


class Verdict(models.Model):
    """The parsed outcome of a trace in a run. Never changed. A missing verdict is never a verdict.

    A row that tells of a failure gives way when the call is ordered to be tried again; its attempts stay.

    `has_error` is null unless the reply said; under the outcome `inconsistent` it and the step stand as said.
    """

    class Outcome(models.TextChoices):
        OK = "ok"
        NO_RESPONSE = "no_response"
        REFUSAL = "refusal"
        TRUNCATED = "truncated"
        INVALID = "invalid"
        INCONSISTENT = "inconsistent"
        PROVIDER_ERROR = "provider_error"

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="verdicts")
    trace = models.ForeignKey(Trace, on_delete=models.PROTECT, related_name="verdicts")
    attempt = models.OneToOneField(Attempt, null=True, on_delete=models.PROTECT, related_name="verdict")
    outcome = models.CharField(max_length=15, choices=Outcome)
    has_error = models.BooleanField(null=True)
    first_error_step = models.PositiveIntegerField(null=True)
    error_confidence = models.FloatField(null=True)
    reason = models.TextField(blank=True)
    parse_path = models.CharField(max_length=60, blank=True)
    raw = models.JSONField(default=dict, help_text="the fields as the reply or the release had them")
    prior_has_error = models.BooleanField(null=True)
    prior_first_error_step = models.PositiveIntegerField(null=True)
    self_review = models.BooleanField(null=True)
    certificate_source = models.ForeignKey(Trace, null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "trace"], name="one verdict per run and trace"),
            models.CheckConstraint(
                condition=~Q(outcome="ok")
                | Q(has_error=True, first_error_step__isnull=False)
                | Q(has_error=False, first_error_step__isnull=True),
                name="an ok verdict names a step exactly when it flags",
            ),
            models.CheckConstraint(
                condition=~Q(outcome="ok") | Q(has_error__isnull=False),
                name="an ok verdict says whether there is an error",
            ),
            models.CheckConstraint(
                condition=Q(first_error_step__isnull=True) | Q(first_error_step__gte=1),
                name="verdict step is null or at least 1",
            ),
            models.CheckConstraint(
                condition=Q(error_confidence__isnull=True)
                | Q(error_confidence__gte=0, error_confidence__lte=100),
                name="verdict confidence lies in 0 to 100",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.run_id}: {self.trace_id} {self.outcome}"


class WorkerHeartbeat(models.Model):
    """When a worker process was last alive."""

    owner = models.CharField(max_length=120, unique=True)
    host = models.CharField(max_length=100)
    pid = models.PositiveIntegerField()
    started_at = models.DateTimeField()
    seen_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return self.owner
