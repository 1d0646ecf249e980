"""Writes that may be sent twice: the answer to a key is kept with its person and given again.

The key, the change and the kept answer are one transaction. A simultaneous request with the same key waits for the
first one's end; a process that dies in between has done nothing and left no key.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from core.errors import UserError
from core.models import KeptAnswer, User

KEPT = timedelta(hours=24)
LONGEST_KEY = 200


class KeyReused(UserError):
    """The key belongs to another request of this person."""

    def __init__(self) -> None:
        super().__init__(
            "this Idempotency-Key was sent with another request in the last 24 hours: a new request needs a new key"
        )


class BadKey(ValueError):
    """The key is empty, too long, or not of visible ASCII characters."""


@dataclass(frozen=True)
class Kept:
    """A status and the JSON text of an answer; `again`: it was kept, and nothing was done now."""

    status: int
    text: str
    again: bool


def checked_key(key: str) -> str:
    """Return the key; raise BadKey if it is none."""
    if not 1 <= len(key) <= LONGEST_KEY or not all("!" <= letter <= "~" for letter in key):
        raise BadKey(f"an Idempotency-Key has 1 to {LONGEST_KEY} visible ASCII characters")
    return key


def fingerprint(method: str, address: str, body: Any) -> str:
    """Return the sha256 (hex) of a request: its method, its address with the query, and what its JSON says."""
    content = json.dumps([method, address, body], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(content.encode()).hexdigest()


@transaction.atomic
def once(*, person: User, key: str, request: str, work: Callable[[], tuple[int, str]]) -> Kept:
    """Do `work` and keep its (status, JSON text), or return what was kept for this key and request.

    Whatever `work` raises undoes everything, the key included. Raises KeyReused.
    """
    now = timezone.now()
    KeptAnswer.objects.filter(person=person, key=key, created_at__lt=now - KEPT).delete()
    fresh = KeptAnswer(person=person, key=key, request=request, created_at=now)
    # Of two at once the database lets one in; the other waits here until the first has ended.
    KeptAnswer.objects.bulk_create([fresh], ignore_conflicts=True)
    kept = KeptAnswer.objects.select_for_update().get(person=person, key=key)
    if kept.status is not None:
        if kept.request != request:
            raise KeyReused
        return Kept(kept.status, kept.answer, again=True)
    kept.status, kept.answer = work()
    kept.save(update_fields=["status", "answer"])
    return Kept(kept.status, kept.answer, again=False)


def forget_old() -> int:
    """Delete the answers older than 24 hours; return how many."""
    return KeptAnswer.objects.filter(created_at__lt=timezone.now() - KEPT).delete()[0]
