"""The guideline under which a study is labelled: versions that are never edited."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from django.db import IntegrityError, transaction

from annotation.models import GuidelineVersion, Study
from core import audit
from core.errors import Conflict, UserError
from core.models import User
from core.texts import error_definition

_FILE = Path(__file__).resolve().parent.parent / "guidelines" / "guideline.md"
TEXT_LENGTH = 50_000


class InvalidGuideline(UserError):
    """A text that cannot be a guideline."""


@cache
def first_guideline() -> str:
    """Return the text that a study starts with; its definition of an error is the one that monitors get."""
    text = _FILE.read_text(encoding="utf-8").replace("{error_definition}", error_definition())
    return text.strip() + "\n"


def ensure_guideline(*, study: Study, actor: User | None = None) -> GuidelineVersion:
    """Return the study's newest guideline; version 1 is made from our text when there is none."""
    newest = study.guideline_versions.order_by("version").last()
    if newest is not None:
        return newest
    with transaction.atomic():
        made, created = GuidelineVersion.objects.get_or_create(
            study=study, version=1, defaults={"text": first_guideline()}
        )
        if created:
            _record(study, actor, made)
    return made


def publish_guideline(*, study: Study, text: str, expected_version: int, actor: User) -> GuidelineVersion:
    """Publish a new version; the same text again is no change.

    `expected_version` is the version that was edited (1 for ours, published or not). Raises InvalidGuideline
    for an empty or overlong text, Conflict when somebody else has published meanwhile.
    """
    text = text.replace("\r\n", "\n").strip() + "\n"
    if text == "\n":
        raise InvalidGuideline("a guideline says something")
    if len(text) > TEXT_LENGTH:
        raise InvalidGuideline(f"the guideline is longer than {TEXT_LENGTH} characters")
    with transaction.atomic():
        standing = ensure_guideline(study=study, actor=actor)
        if standing.text == text:
            return standing
        if standing.version != expected_version:
            raise _overtaken(standing.version)
        try:
            with transaction.atomic():
                made = GuidelineVersion.objects.create(study=study, version=standing.version + 1, text=text)
        except IntegrityError:
            raise _overtaken(standing.version + 1) from None
        _record(study, actor, made)
    return made


def _overtaken(version: int) -> Conflict:
    return Conflict(
        f"Version {version} was published meanwhile, so yours was not. Your text is still in the field below; "
        "compare it with the version in force and publish it again."
    )


def _record(study: Study, actor: User | None, made: GuidelineVersion) -> None:
    audit.record(
        scope=study.slug,
        actor=actor,
        action="guideline published",
        subject=f"guideline version {made.version}",
    )
