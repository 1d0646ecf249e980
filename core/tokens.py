"""Tokens for programs: issued once, kept as a hash, limited by scope and time, revoked for good."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from core import audit
from core.errors import UserError
from core.models import ApiToken, Scope, User

DEFAULT_DAYS = 90
LONGEST_DAYS = 366
NAME_LENGTH = 100
COARSE = timedelta(hours=1)


@dataclass(frozen=True)
class Issued:
    """A new token and its key, which nobody can read again."""

    token: ApiToken
    key: str


def digest_of(key: str) -> str:
    """Return the sha256 (hex) by which a key is found. A random key of 256 bits needs no slow hash."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


@transaction.atomic
def issue_token(
    *,
    person: User,
    scopes: Iterable[str],
    days: int = DEFAULT_DAYS,
    name: str = "",
    actor: User | None = None,
) -> Issued:
    """Make a token for a person, valid for 1 to 366 days. Raises UserError for scopes or days that cannot be."""
    asked = set(scopes)
    unknown = sorted(asked - set(Scope.values))
    if unknown:
        raise UserError(f'no scope named "{unknown[0]}"; there are: {", ".join(Scope.values)}')
    if not asked:
        raise UserError(f"name at least one scope of: {', '.join(Scope.values)}")
    if not 1 <= days <= LONGEST_DAYS:
        raise UserError(f"a token is valid for 1 to {LONGEST_DAYS} days, not {days}")
    if len(name) > NAME_LENGTH:
        raise UserError(f"the name of a token has at most {NAME_LENGTH} characters")
    prefix = f"fs_{secrets.token_hex(4)}"
    key = f"{prefix}_{secrets.token_urlsafe(32)}"
    now = timezone.now()
    token = ApiToken.objects.create(
        person=person,
        name=name,
        prefix=prefix,
        digest=digest_of(key),
        scopes=" ".join(scope for scope in Scope.values if scope in asked),
        created_at=now,
        expires_at=now + timedelta(days=days),
    )
    audit.record(
        scope=audit.SITE,
        actor=actor,
        action="token issued",
        subject=f"token {prefix}",
        payload={"person": person.username, "scopes": token.scope_words, "days": days},
    )
    return Issued(token, key)


@transaction.atomic
def revoke_token(*, token: ApiToken, actor: User | None) -> ApiToken:
    """Close a token for good; revoking it again is no change."""
    changed = ApiToken.objects.filter(pk=token.pk, revoked_at__isnull=True).update(revoked_at=timezone.now())
    if changed:
        audit.record(
            scope=audit.SITE,
            actor=actor,
            action="token revoked",
            subject=f"token {token.prefix}",
            payload={"person": token.person.username},
        )
    token.refresh_from_db()
    return token


def token_of_key(key: str) -> ApiToken | None:
    """Return the live token of a key whose person may sign in; None for any other key."""
    token = ApiToken.objects.select_related("person").filter(digest=digest_of(key)).first()
    if token is None or not token.is_live(timezone.now()) or not token.person.is_active:
        return None
    return token


def note_use(token: ApiToken) -> None:
    """Keep the hour in which a token was last used: finer would cost a write for each request."""
    now = timezone.now()
    if token.last_used_at is None or now - token.last_used_at >= COARSE:
        token.last_used_at = now.replace(minute=0, second=0, microsecond=0)
        token.save(update_fields=["last_used_at"])


def tokens_of(person: User) -> QuerySet[ApiToken]:
    """Return a person's tokens, the newest first."""
    return ApiToken.objects.filter(person=person).order_by("-created_at", "-pk")
