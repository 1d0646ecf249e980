"""The sample study's people. Their password is random, made once and kept beside the embedded database."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import transaction

from annotation.models import Membership, Role, Study
from core import audit
from core.models import User


@dataclass(frozen=True)
class Part:
    """One person of the cast."""

    username: str
    display_name: str
    role: Role


CAST = (
    Part("ana", "Ana Alves", Role.ANNOTATOR),
    Part("ben", "Ben Brandt", Role.ANNOTATOR),
    Part("chloe", "Chloé Costa", Role.ANNOTATOR),
    Part("adam", "Adam Arslan", Role.LEAD),
    Part("olga", "Olga Orlova", Role.ADMINISTRATOR),
)


def password() -> str:
    """Return the demo's password; only the owner of FALSESTEP_HOME can read its file."""
    path = Path(settings.HOME) / "demo_password"
    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(secrets.token_urlsafe(9) + "\n", encoding="ascii")
    return path.read_text(encoding="ascii").strip()


@transaction.atomic
def gather(study: Study) -> dict[str, User]:
    """Return the cast by user name; people and roles that are missing are made, with the demo's password."""
    people = {}
    for part in CAST:
        person, made = User.objects.get_or_create(
            username=part.username, defaults={"display_name": part.display_name}
        )
        if made:
            person.set_password(password())
            person.save(update_fields=["password"])
        _, given = Membership.objects.get_or_create(study=study, person=person, role=part.role)
        if given:
            audit.record(
                scope=study.slug,
                actor=None,
                action="role given",
                subject=part.username,
                payload={"role": part.role.value},
            )
        people[part.username] = person
    return people
