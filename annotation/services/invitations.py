"""Inviting people to a study: a link with a key that works once, for some days, until it is revoked."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from annotation.models import Invitation, Membership, Role, Study
from annotation.services.people import add_person
from core import audit
from core.errors import Conflict, UserError
from core.models import User
from core.tokens import digest_of

DEFAULT_DAYS = 7
LONGEST_DAYS = 30


class NotOpen(Conflict):
    """The invitation was accepted, was revoked or has expired."""

    def __init__(self) -> None:
        super().__init__("this invitation was used, was taken back or has expired; ask for another")


class AlreadyMember(Conflict):
    """An invitation is for people who are not in the study yet."""


class Unfit(UserError):
    """A field of the form cannot be as it is; `field` names it."""

    def __init__(self, field: str, said: str) -> None:
        self.field = field
        super().__init__(said)


@dataclass(frozen=True)
class Issued:
    """A new invitation and the key of its link, which nobody can read again."""

    invitation: Invitation
    key: str


@transaction.atomic
def invite(
    *,
    study: Study,
    roles: Iterable[str],
    name: str,
    email: str = "",
    days: int = DEFAULT_DAYS,
    actor: User | None,
) -> Issued:
    """Make an invitation, open for 1 to 30 days. Raises Unfit for what cannot be."""
    asked = set(roles)
    if not asked or asked - set(Role.values):
        raise Unfit("roles", f"choose at least one of: {', '.join(Role.values)}")
    name, email = name.strip(), email.strip()
    if not name or len(name) > 100:
        raise Unfit("name", "say for whom it is, in at most 100 characters")
    if email:
        try:
            validate_email(email)
        except ValidationError as error:
            raise Unfit("email", "this is no e-mail address") from error
    if not 1 <= days <= LONGEST_DAYS:
        raise Unfit("days", f"an invitation is open for 1 to {LONGEST_DAYS} days")
    key, now = secrets.token_urlsafe(32), timezone.now()
    invitation = Invitation.objects.create(
        study=study,
        digest=digest_of(key),
        roles=" ".join(role for role in Role.values if role in asked),
        name=name,
        email=email,
        invited_by=actor,
        created_at=now,
        expires_at=now + timedelta(days=days),
    )
    audit.record(
        scope=study.slug,
        actor=actor,
        action="person invited",
        subject=f"invitation {invitation.pk}",
        payload={"name": name, "email": email, "roles": invitation.role_words, "days": days},
    )
    return Issued(invitation, key)


@transaction.atomic
def revoke(*, invitation: Invitation, actor: User) -> None:
    """Close an invitation; one that is closed already stays as it is."""
    open_ = Invitation.objects.filter(pk=invitation.pk, accepted_at__isnull=True, revoked_at__isnull=True)
    if open_.update(revoked_at=timezone.now()):
        audit.record(
            scope=invitation.study.slug,
            actor=actor,
            action="invitation revoked",
            subject=f"invitation {invitation.pk}",
        )


def open_invitation(key: str) -> Invitation | None:
    """Return the open invitation of a key, None for any other."""
    found = Invitation.objects.select_related("study").filter(digest=digest_of(key)).first()
    return found if found is not None and found.is_open(timezone.now()) else None


def invitations_of(study: Study) -> QuerySet[Invitation]:
    """Return the invitations of a study, the newest first."""
    return (
        Invitation.objects.filter(study=study)
        .select_related("invited_by", "accepted_by")
        .order_by("-created_at", "-pk")
    )


@transaction.atomic
def accept(*, invitation: Invitation, person: User) -> None:
    """Make a person a member. Raises NotOpen, and AlreadyMember for whoever is in the study.

    A member gets further roles from whoever runs the site: who knows the labels of a study as its administrator
    must not become its lead by a link.
    """
    if Membership.objects.filter(study=invitation.study_id, person=person).exists():
        raise AlreadyMember(
            "you are in this study already; who runs the site gives further roles (manage.py add_person)"
        )
    _take(invitation, person)


@transaction.atomic
def accept_as_new(*, invitation: Invitation, username: str, display_name: str, password: str | None) -> User:
    """Make a new person who signs in with this password (None: only by OpenID), and a member.

    Raises NotOpen, and Unfit for a name that is taken or cannot be one and for a weak password.
    """
    username = username.strip()
    if User.objects.filter(username__iexact=username).exists():
        raise Unfit("username", "this name is taken; if it is yours, sign in first")
    draft = User(username=username, display_name=display_name, email=invitation.email)
    if password is not None:
        try:
            validate_password(password, draft)
        except ValidationError as error:
            raise Unfit("password", " ".join(error.messages)) from error
    try:
        added = add_person(
            username=username,
            study=invitation.study,
            roles=(),
            display_name=display_name.strip(),
            password=password or secrets.token_urlsafe(32),
        )
    except UserError as error:
        raise Unfit("username", str(error)) from error
    person = added.person
    person.email = invitation.email
    if password is None:
        person.set_unusable_password()
    person.save(update_fields=["email", "password"])
    _take(invitation, person)
    return person


def _take(invitation: Invitation, person: User) -> None:
    now = timezone.now()
    open_ = Invitation.objects.filter(
        pk=invitation.pk, accepted_at__isnull=True, revoked_at__isnull=True, expires_at__gt=now
    )
    # One of two who hold the link gets through: the row decides.
    if not open_.update(accepted_at=now, accepted_by=person):
        raise NotOpen
    audit.record(
        scope=invitation.study.slug,
        actor=person,
        action="invitation accepted",
        subject=f"invitation {invitation.pk}",
        payload={"person": person.username},
    )
    add_person(
        username=person.username,
        study=invitation.study,
        roles=[Role(role) for role in invitation.role_words],
        actor=invitation.invited_by,
    )


@transaction.atomic
def accept_by_email(email: str, display_name: str) -> User | None:
    """Make a new person of every open invitation to an e-mail address that a provider vouches for.

    None if there is no such invitation. The name to sign in with is the address.
    """
    now = timezone.now()
    found = [
        one
        for one in Invitation.objects.select_related("study").filter(email__iexact=email).order_by("pk")
        if one.is_open(now)
    ]
    if not found or User.objects.filter(username__iexact=email).exists():
        return None
    first, *others = found
    person = accept_as_new(invitation=first, username=email, display_name=display_name[:100], password=None)
    for other in others:
        if not Membership.objects.filter(study=other.study_id, person=person).exists():
            accept(invitation=other, person=person)
    return person
