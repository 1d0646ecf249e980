"""The sample study's people. Their password is random, made once and kept beside the embedded database."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from annotation.models import Role, Study
from annotation.services.people import add_person
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


def gather(study: Study) -> dict[str, User]:
    """Return the cast by user name; people and roles that are missing are made, with the demo's password."""
    return {
        part.username: add_person(
            username=part.username,
            study=study,
            roles=[part.role],
            display_name=part.display_name,
            password=password(),
        ).person
        for part in CAST
    }
