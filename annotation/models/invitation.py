"""Invitations: a link that makes somebody a member of a study, once, for some days."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from annotation.models.study import Role, Study


class Invitation(models.Model):
    """An open door to one study. Only the sha256 of the key in its link is kept."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="invitations")
    digest = models.CharField(max_length=64, unique=True)
    roles = models.CharField(max_length=60, help_text="words of Role with spaces between")
    name = models.CharField(max_length=100, help_text="for whom it was made")
    email = models.EmailField(
        blank=True, help_text="who signs in by OpenID with it is let in without the link"
    )
    invited_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)
    accepted_at = models.DateTimeField(null=True)
    accepted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(expires_at__gt=F("created_at")), name="an invitation expires after it was made"
            ),
            models.CheckConstraint(condition=~Q(roles=""), name="an invitation gives a role"),
            models.CheckConstraint(
                condition=Q(accepted_at__isnull=True) | Q(revoked_at__isnull=True),
                name="an invitation is accepted or revoked, not both",
            ),
            models.CheckConstraint(
                condition=Q(accepted_at__isnull=True, accepted_by__isnull=True)
                | Q(accepted_at__isnull=False, accepted_by__isnull=False),
                name="somebody accepted an accepted invitation",
            ),
        ]
        indexes = [models.Index(fields=["email"], condition=~Q(email=""), name="invitation_by_email")]

    def __str__(self) -> str:
        return f"{self.study_id}: {self.name}"

    @property
    def role_words(self) -> list[str]:
        """The roles, in the order of Role."""
        given = self.roles.split()
        return [role for role in Role.values if role in given]

    def is_open(self, now: datetime) -> bool:
        """Whether it lets anybody in at this time."""
        return self.accepted_at is None and self.revoked_at is None and self.expires_at > now
