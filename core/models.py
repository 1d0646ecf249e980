"""People, their tokens for programs, and the audit trail's rows."""

from __future__ import annotations

from datetime import datetime

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models import F, Q


class User(AbstractUser):
    """A person who signs in; what they may do is said per study by annotation.Membership."""

    display_name = models.CharField(max_length=100, blank=True)

    def __str__(self) -> str:
        return self.display_name or self.username


class Scope(models.TextChoices):
    """What a token may be used for; its person's roles limit it further."""

    READ = "read", "read what its person may read"
    LABEL = "label", "claim traces and label them"
    ADJUDICATE = "adjudicate", "decide disputes and freeze standards"
    OPERATE = "operate", "launch batches and steer them"
    SPEND = "spend", "launch, resume and retry batches that cost money (beside operate)"


class ApiToken(models.Model):
    """A key with which a program acts for a person. Only its sha256 is kept; `prefix` is what people see of it."""

    person = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=100, help_text="what it is used for")
    prefix = models.CharField(max_length=12, unique=True)
    digest = models.CharField(max_length=64, unique=True)
    scopes = models.CharField(max_length=60, help_text="words of Scope with spaces between")
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, help_text="to the hour")
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~Q(scopes=""), name="a token has at least one scope"),
            models.CheckConstraint(
                condition=Q(expires_at__gt=F("created_at")), name="a token expires after it was made"
            ),
        ]

    def __str__(self) -> str:
        return self.prefix

    @property
    def scope_words(self) -> list[str]:
        """The scopes, in the order of Scope."""
        given = self.scopes.split()
        return [scope for scope in Scope.values if scope in given]

    def is_live(self, now: datetime) -> bool:
        """Whether the token opens anything at this time."""
        return self.revoked_at is None and self.expires_at > now


class SignInFailure(models.Model):
    """One refused try to sign in, or one under way; `key` is a keyed hash of whom or whence it came.

    Counted by all web processes alike. People type passwords into the field for names: neither is kept.
    """

    class Kind(models.TextChoices):
        ACCOUNT = "account"
        BROWSER = "browser"
        ADDRESS = "address"

    kind = models.CharField(max_length=8, choices=Kind)
    key = models.CharField(max_length=64)
    at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["kind", "key", "at"], name="sign_in_failure_by_key"),
            models.Index(fields=["at"], name="sign_in_failure_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.key[:8]}"


class ExternalIdentity(models.Model):
    """A subject of an OpenID provider that signs in as a person here."""

    person = models.ForeignKey(User, on_delete=models.CASCADE, related_name="external_identities")
    issuer = models.CharField(max_length=200)
    subject = models.CharField(max_length=255)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "external identities"
        constraints = [
            models.UniqueConstraint(fields=["issuer", "subject"], name="one person per subject of an issuer")
        ]

    def __str__(self) -> str:
        return f"{self.person_id}: {self.subject}"


class KeptAnswer(models.Model):
    """The answer to a write that came with an Idempotency-Key, given again to the same request for 24 hours."""

    person = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=200)
    request = models.CharField(max_length=64, help_text="sha256 of method, address and body")
    status = models.PositiveSmallIntegerField(null=True, help_text="null only inside the first request")
    answer = models.TextField(blank=True, help_text="JSON, as it was sent")
    created_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["person", "key"], name="one kept answer per person and key")
        ]

    def __str__(self) -> str:
        return f"{self.person_id}/{self.key}"


class Webhook(models.Model):
    """An address that is told of events of a study; what signs the messages is derived from `token`, not stored."""

    class Event(models.TextChoices):
        LABEL_SUBMITTED = "label.submitted", "a label was submitted"
        DISPUTE_DECIDED = "dispute.decided", "a dispute was decided"
        STANDARD_FROZEN = "standard.frozen", "a standard was frozen"
        BATCH_FINISHED = "batch.finished", "a batch finished"

    scope = models.CharField(max_length=100, db_index=True, help_text="the study's slug")
    token = models.CharField(max_length=20, unique=True)
    url = models.CharField(max_length=500)
    events = models.CharField(max_length=200, help_text="words of Event with spaces between")
    created_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField()
    removed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~Q(events=""), name="a webhook has at least one event")
        ]

    def __str__(self) -> str:
        return f"{self.scope} {self.token}"

    @property
    def event_words(self) -> list[str]:
        """The events, in the order of Event."""
        given = self.events.split()
        return [event for event in Webhook.Event.values if event in given]


class Delivery(models.Model):
    """One message to one webhook, and what became of it."""

    class Status(models.TextChoices):
        WAITING = "waiting"
        DELIVERED = "delivered"
        FAILED = "failed", "given up"

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    token = models.CharField(max_length=20, unique=True)
    event = models.CharField(max_length=40)
    payload = models.JSONField(help_text="ids only")
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    created_at = models.DateTimeField()
    next_at = models.DateTimeField(
        null=True, help_text="when it may be tried (again); null once it is settled"
    )
    answered = models.PositiveSmallIntegerField(null=True, help_text="the last HTTP status")
    problem = models.CharField(max_length=200, blank=True)
    delivered_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(status="waiting", next_at__isnull=False)
                | (~Q(status="waiting") & Q(next_at__isnull=True)),
                name="only a waiting delivery has a next time",
            )
        ]
        indexes = [
            models.Index(fields=["next_at"], condition=Q(status="waiting"), name="deliveries_due"),
            models.Index(fields=["webhook", "-created_at"], name="deliveries_of_a_webhook"),
        ]

    def __str__(self) -> str:
        return f"{self.event} {self.token}"


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
