"""Keeping what a person has entered and not yet submitted."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from annotation.models import Draft, Reservation, Trace
from annotation.queries import current_label
from annotation.services.labels import COMMENT_LENGTH, InvalidLabel
from annotation.services.queue import HOLD
from core.errors import Conflict
from core.models import User


@dataclass(frozen=True)
class DraftContent:
    """The form as it stands: each judgement may be missing. `first_error` is "none", "step" or ""."""

    final_correct: bool | None = None
    first_error: str = ""
    first_error_step: int | None = None
    comment: str = ""
    active_seconds: int = 0
    based_on: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return it as stored."""
        return dict(self.__dict__)


def save_draft(*, trace: Trace, person: User, content: DraftContent, expected_version: int) -> Draft:
    """Keep a draft and renew the hold on its trace.

    `expected_version` is the version that the page had saved or loaded (0: none yet), `content.based_on` the
    revision of the label it began from. Raises Conflict when a label was submitted since, or when another tab
    saved another draft: a late draft never overwrites anything.
    """
    if len(content.comment) > COMMENT_LENGTH:
        raise InvalidLabel(f"the comment is longer than {COMMENT_LENGTH} characters")
    if content.first_error not in ("", "none", "step"):
        raise InvalidLabel("the first false step is none, or one of the steps")
    with transaction.atomic():
        label = current_label(trace, person)
        if (label.revision if label else 0) != content.based_on:
            raise Conflict("This trace was submitted meanwhile, so this draft was not kept.")
        now = timezone.now()
        if expected_version == 0:
            draft = _first(trace, person, content)
        else:
            changed = Draft.objects.filter(trace=trace, person=person, version=expected_version).update(
                content=content.as_json(), version=expected_version + 1, saved_at=now
            )
            if not changed:
                raise _other_tab()
            draft = Draft.objects.get(trace=trace, person=person)
        Reservation.objects.filter(trace=trace, person=person).update(
            expires_at=now + timedelta(minutes=HOLD)
        )
    return draft


def _first(trace: Trace, person: User, content: DraftContent) -> Draft:
    found = Draft.objects.filter(trace=trace, person=person).first()
    if found is not None:
        if found.content.get("based_on") == content.based_on:
            raise _other_tab()
        # What is left of a draft from before the last submission is of no use to anybody.
        found.delete()
    try:
        with transaction.atomic():
            return Draft.objects.create(trace=trace, person=person, content=content.as_json())
    except IntegrityError:
        raise _other_tab() from None


def _other_tab() -> Conflict:
    return Conflict("Another tab has saved entries for this trace since. Reload to continue from them.")
