"""People and their roles in a study."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import ValidationError
from django.db import transaction

from annotation.models import Membership, Role, Study
from core import audit
from core.errors import UserError
from core.models import User


@dataclass(frozen=True)
class Added:
    """What adding did: the person, the first password if the person is new, the roles given now."""

    person: User
    password: str | None
    given: tuple[Role, ...]


@transaction.atomic
def add_person(
    *,
    username: str,
    study: Study,
    roles: Sequence[Role],
    display_name: str = "",
    password: str | None = None,
    actor: User | None = None,
) -> Added:
    """Give a person roles in a study; somebody who does not exist is made, with a random first password.

    `password` replaces the random one of a new person and is not used for one who exists.

    Roles that the person holds already are left as they are. Raises UserError for a name that cannot be one.
    """
    try:
        UnicodeUsernameValidator()(username)
    except ValidationError as error:
        raise UserError(f"{username!r} cannot be a user name: {error.messages[0]}") from error
    if len(username) > 150:
        raise UserError("a user name has at most 150 characters")
    if len(display_name) > 100:
        raise UserError("a display name has at most 100 characters")
    person = User.objects.filter(username=username).first()
    first = None
    if person is None:
        first = password or secrets.token_urlsafe(12)
        person = User.objects.create_user(username=username, password=first, display_name=display_name)
        audit.record(scope=audit.SITE, actor=actor, action="person added", subject=username)
    given = []
    for role in roles:
        _, made = Membership.objects.get_or_create(study=study, person=person, role=role)
        if made:
            given.append(role)
            audit.record(
                scope=study.slug,
                actor=actor,
                action="role given",
                subject=username,
                payload={"role": str(role)},
            )
    return Added(person, first, tuple(given))
