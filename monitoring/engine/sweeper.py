"""The sweeper: returns calls whose worker is gone, ends what is complete, wakes workers where work waits."""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from core import idempotency, webhooks
from monitoring.engine import heartbeat, identity, provider_batches, waking
from monitoring.engine.completion import finish_if_complete
from monitoring.engine.limits import limits
from monitoring.engine.locking import locked
from monitoring.engine.options import PROVIDER_BATCHES
from monitoring.engine.settling import abandon
from monitoring.models import Batch, Call

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Swept:
    """What a sweep did."""

    returned: int
    woken: int


def sweep(*, wake: bool = True) -> Swept:
    """Return lost calls to pending, finish what is complete, and wake workers; safe at any time, by many."""
    returned = return_lost_calls()
    for batch_id in Batch.objects.filter(status__in=_LIVE).values_list("pk", flat=True):
        finish_if_complete(batch_id)
        _look_after_chunks(batch_id)
    woken = wake_waiting() if wake else 0
    if wake:
        webhooks.wake_due()
    webhooks.forget_old()
    idempotency.forget_old()
    heartbeat.forget_the_dead()
    return Swept(returned=returned, woken=woken)


_looked: dict[int, float] = {}


def _look_after_chunks(batch_id: int) -> None:
    """Ask for a worker on what was handed to a provider's batch API, not more often than it makes sense."""
    now = time.monotonic()
    if now - _looked.get(batch_id, float("-inf")) >= limits().beat and provider_batches.is_due(batch_id):
        _looked[batch_id] = now
        waking.send_chunks(batch_id)


_LIVE = (Batch.Status.RUNNING, Batch.Status.PAUSED)


def return_lost_calls() -> int:
    """Return to pending every call whose lease ran out or whose worker on this host is dead; count them."""
    now = timezone.now()
    running = Call.objects.filter(status=Call.Status.RUNNING)
    owners = running.values_list("lease_owner", flat=True).distinct()
    dead = [owner for owner in owners if identity.is_gone(owner)]
    lost = Q(lease_until__lt=now) | Q(lease_owner__in=dead)
    by_batch: dict[int, list[int]] = defaultdict(list)
    for call_id, batch_id in running.filter(lost).values_list("pk", "run__batch_id"):
        by_batch[batch_id].append(call_id)
    return sum(_return(batch_id, ids, lost, now) for batch_id, ids in sorted(by_batch.items()))


def _return(batch_id: int, call_ids: list[int], lost: Q, now: datetime) -> int:
    with transaction.atomic():
        batch = locked(batch_id)
        # Asked again under the lock: a lease renewed or settled meanwhile is no longer lost.
        calls = (
            Call.objects.select_for_update(of=("self",))
            .filter(lost, pk__in=call_ids, status=Call.Status.RUNNING)
            .order_by("pk")
        )
        returned = abandon(calls, batch=batch, now=now, why="the worker was lost before the reply came")
    if returned:
        log.warning("batch %s: %d calls returned from lost workers", batch_id, returned)
    return returned


def wake_waiting() -> int:
    """Ask for a worker on every running batch with due calls that nobody works on; return how many."""
    now = timezone.now()
    calls = Call.objects.filter(run__batch=OuterRef("pk")).exclude(run__settings__via=PROVIDER_BATCHES)
    due = calls.filter(Q(not_before__isnull=True) | Q(not_before__lte=now), status=Call.Status.PENDING)
    waiting = Batch.objects.filter(
        Exists(due), ~Exists(calls.filter(status=Call.Status.RUNNING)), status=Batch.Status.RUNNING
    )
    ids = list(waiting.values_list("pk", flat=True))
    for batch_id in ids:
        waking.send(batch_id)
    return len(ids)
