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

from core import statements
from core.models import AuditChain, AuditEntry, User

SITE = "site"
GENESIS = "0" * 64

# A row that is locked is locked on PostgreSQL; SQLite has one writer at a time and no such words.
_HEAD = "SELECT id, length, head FROM core_auditchain WHERE scope = %(scope)s"
_ADD = """
INSERT INTO core_auditentry
    (chain_id, sequence, at, actor_id, actor_name, action, subject, payload, previous, digest)
VALUES (%(chain)s, %(sequence)s, %(at)s, %(actor)s, %(actor_name)s, %(action)s, %(subject)s, %(payload)s,
        %(previous)s, %(digest)s)
RETURNING id
"""
_MOVE = "UPDATE core_auditchain SET length = %(sequence)s, head = %(digest)s WHERE id = %(chain)s"


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
    key, length, previous = _head(scope)
    at = timezone.now()
    body = json.loads(json.dumps(dict(payload or {}), sort_keys=True, allow_nan=False))
    actor_name = actor.username if actor else "system"
    sequence = length + 1
    entry_digest = digest(
        previous=previous,
        scope=scope,
        sequence=sequence,
        at=at,
        actor_name=actor_name,
        action=action,
        subject=subject,
        payload=body,
    )
    values = {
        "chain": key,
        "sequence": sequence,
        "at": at,
        "actor": actor.pk if actor else None,
        "actor_name": actor_name,
        "action": action,
        "subject": subject,
        "payload": json.dumps(body),
        "previous": previous,
        "digest": entry_digest,
    }
    (added,), _ = statements.together(
        (_ADD, values), (_MOVE, {"chain": key, "sequence": sequence, "digest": entry_digest})
    )
    return AuditEntry(
        pk=added[0],
        chain_id=key,
        sequence=sequence,
        at=at,
        actor=actor,
        actor_name=actor_name,
        action=action,
        subject=subject,
        payload=body,
        previous=previous,
        digest=entry_digest,
    )


def _head(scope: str) -> tuple[int, int, str]:
    """Lock a chain, which is begun if it is not there, and return its key, length and head."""
    lock = " FOR UPDATE" if transaction.get_connection().features.has_select_for_update else ""
    found = statements.row(_HEAD + lock, {"scope": scope})
    if found is None:
        AuditChain.objects.bulk_create([AuditChain(scope=scope)], ignore_conflicts=True)
        found = statements.row(_HEAD + lock, {"scope": scope})
        assert found is not None
    key, length, head = found
    return key, length, head


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
