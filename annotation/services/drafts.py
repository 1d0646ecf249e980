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

ENTRIES = ("final_correct", "first_error", "first_error_step", "comment", "coherence", "error_type")


@dataclass(frozen=True)
class DraftContent:
    """The form as it stands: each judgement may be missing. `first_error` is "none", "step" or "".

    `writer` names the load of a page that sends it, and `sequence` orders what it sends: milliseconds of the
    browser's clock, or more. `after` names the page before it in the same tab that sent a draft ("": none), and
    `started` is when this page began, by the same clock.
    """

    final_correct: bool | None = None
    first_error: str = ""
    first_error_step: int | None = None
    comment: str = ""
    coherence: str = ""
    error_type: str = ""
    active_seconds: int = 0
    based_on: int = 0
    writer: str = ""
    sequence: int = 0
    after: str = ""
    started: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return it as stored."""
        return dict(self.__dict__)


def save_draft(*, trace: Trace, person: User, content: DraftContent, expected_version: int) -> Draft:
    """Keep a draft and renew the hold on its trace.

    `expected_version` is the version that the page had saved or loaded (0: none yet), `content.based_on` the
    revision of the label it began from. Raises Conflict when a label was submitted since, or when another page
    saved other entries: a late draft never overwrites anything. A page may overtake itself in the order of
    `sequence`, and the page before it in its tab, which may still have saved something while it was left. It may
    not overtake what that page sent after this one began: then both are open, and this one is a duplicated tab.
    """
    if len(content.comment) > COMMENT_LENGTH:
        raise InvalidLabel(f"the comment is longer than {COMMENT_LENGTH} characters")
    if content.first_error not in ("", "none", "step"):
        raise InvalidLabel("the first false step is none, or one of the steps")
    with transaction.atomic():
        label = current_label(trace, person)
        if (label.revision if label else 0) != content.based_on:
            raise Conflict("This trace was submitted meanwhile, so this draft was not kept.")
        # The draft's row is locked: its version and its content are judged together.
        standing = Draft.objects.select_for_update().filter(trace=trace, person=person).first()
        if standing is not None and standing.content.get("based_on") != content.based_on:
            standing.delete()  # left by a race from before the last submission; of no use to anybody
            standing = None
        if standing is None:
            draft = _first(trace, person, content, expected_version)
        else:
            draft = _next(standing, content, expected_version)
        until = timezone.now() + timedelta(minutes=HOLD)
        Reservation.objects.filter(trace=trace, person=person).update(expires_at=until)
    return draft


def _first(trace: Trace, person: User, content: DraftContent, expected_version: int) -> Draft:
    if expected_version:
        raise _other_tab()
    try:
        with transaction.atomic():
            return Draft.objects.create(trace=trace, person=person, content=content.as_json())
    except IntegrityError:
        raise _other_tab() from None


def _next(standing: Draft, content: DraftContent, expected_version: int) -> Draft:
    new, old = content.as_json(), standing.content
    if content.writer and old.get("writer") == content.writer:
        if content.sequence <= old.get("sequence", 0):
            return standing
    elif all(new[name] == old.get(name, "") for name in ENTRIES):
        return standing
    elif standing.version != expected_version and not _follows(content, old):
        raise _other_tab()
    standing.content = new
    standing.version += 1
    standing.save(update_fields=["content", "version", "saved_at"])
    return standing


def _follows(content: DraftContent, old: dict[str, Any]) -> bool:
    """Whether the stored draft was left behind by the page that the sender took the place of."""
    return (
        bool(content.after)
        and old.get("writer") == content.after
        and old.get("sequence", 0) < content.started
    )


def _other_tab() -> Conflict:
    return Conflict("Another tab has saved entries for this trace since. Reload to continue from them.")
