"""The audit trail: an append-only hash chain per scope (a study's slug, or `site`)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db import transaction
from django.utils import timezone

from core.models import AuditChain, AuditEntry, User

SITE = "site"
GENESIS = "0" * 64


@dataclass(frozen=True)
class Break:
    """A place where a chain does not hold."""

    scope: str
    sequence: int
    reason: str


_holdings: list[Callable[[str | None], Iterable[Break]]] = []


def register(check: Callable[[str | None], Iterable[Break]]) -> None:
    """Let `verify` also ask `check(scope)`: an app above says where a row no longer is what was recorded."""
    if check not in _holdings:
        _holdings.append(check)


def digest(
    *,
    previous: str,
    scope: str,
    sequence: int,
    at: datetime,
    actor_name: str,
    action: str,
    subject: str,
    payload: Mapping[str, Any],
) -> str:
    """Return the sha256 (hex) of an entry, its predecessor's digest included."""
    content = [
        previous,
        scope,
        sequence,
        at.astimezone(UTC).isoformat(timespec="microseconds"),
        actor_name,
        action,
        subject,
        payload,
    ]
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def record(
    *, scope: str, actor: User | None, action: str, subject: str, payload: Mapping[str, Any] | None = None
) -> AuditEntry:
    """Append one entry in the caller's transaction.

    The payload must be plain JSON. Raises RuntimeError outside a transaction: an event must stand or fall
    with the change it tells of.
    """
    connection = transaction.get_connection()
    if not connection.in_atomic_block:
        raise RuntimeError("an audit entry is written in the transaction of its change")
    # One chain must not fork: its head row is locked until the caller's transaction ends.
    chain = AuditChain.objects.select_for_update().filter(scope=scope).first()
    if chain is None:
        AuditChain.objects.bulk_create([AuditChain(scope=scope)], ignore_conflicts=True)
        chain = AuditChain.objects.select_for_update().get(scope=scope)
    at = timezone.now()
    body = json.loads(json.dumps(dict(payload or {}), sort_keys=True, allow_nan=False))
    actor_name = actor.username if actor else "system"
    sequence = chain.length + 1
    entry_digest = digest(
        previous=chain.head,
        scope=scope,
        sequence=sequence,
        at=at,
        actor_name=actor_name,
        action=action,
        subject=subject,
        payload=body,
    )
    entry = AuditEntry.objects.create(
        chain=chain,
        sequence=sequence,
        at=at,
        actor=actor,
        actor_name=actor_name,
        action=action,
        subject=subject,
        payload=body,
        previous=chain.head,
        digest=entry_digest,
    )
    chain.length, chain.head = sequence, entry_digest
    chain.save(update_fields=["length", "head"])
    return entry


def verify(scope: str | None = None) -> Iterator[Break]:
    """Walk the chains (or one) and yield each break: a changed, missing or added entry, or a moved head.

    What other apps registered is asked afterwards.
    """
    chains = AuditChain.objects.order_by("scope")
    if scope is not None:
        chains = chains.filter(scope=scope)
    for chain in chains:
        previous, expected = GENESIS, 1
        for entry in chain.entries.order_by("sequence").iterator(chunk_size=1000):
            if entry.sequence != expected:
                yield Break(chain.scope, expected, f"entry {expected} is missing")
            if entry.previous != previous:
                yield Break(chain.scope, entry.sequence, "does not follow the entry before it")
            computed = digest(
                previous=entry.previous,
                scope=chain.scope,
                sequence=entry.sequence,
                at=entry.at,
                actor_name=entry.actor_name,
                action=entry.action,
                subject=entry.subject,
                payload=entry.payload,
            )
            if computed != entry.digest:
                yield Break(chain.scope, entry.sequence, "was changed after it was written")
            previous, expected = entry.digest, entry.sequence + 1
        if expected - 1 != chain.length or previous != chain.head:
            yield Break(
                chain.scope, expected, f"the chain says {chain.length} entries, {expected - 1} are here"
            )
    for check in _holdings:
        yield from check(scope)
