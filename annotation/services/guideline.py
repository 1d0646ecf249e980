"""The guideline under which a study is labelled: versions that are never edited."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from django.db import transaction

from annotation.models import GuidelineVersion, Study
from core import audit
from core.models import User
from core.texts import error_definition

_FILE = Path(__file__).resolve().parent.parent / "guidelines" / "guideline.md"


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
            audit.record(
                scope=study.slug, actor=actor, action="guideline published", subject="guideline version 1"
            )
    return made
