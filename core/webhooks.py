"""Webhooks: an administrator's address is told of a study's events by signed messages that hold ids and no more.

A service calls `emit` in the transaction of its change. The message waits in the database and is sent by a worker;
the broker only makes that soon, and the sweeper asks again for whatever is due.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import ipaddress
import json
import logging
import secrets
import socket
import ssl
from collections.abc import Callable, Collection, Iterable
from datetime import timedelta
from urllib.parse import urlsplit

from celery import current_app
from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.crypto import salted_hmac
from kombu.exceptions import OperationalError

from core import audit, statements
from core.errors import UserError
from core.models import Delivery, User, Webhook
from llm.outbound import checked_addresses, plain_base_url
from llm.types import BadProvider

log = logging.getLogger(__name__)

Event = Webhook.Event
DELIVER = "core.tasks.deliver"
TIMEOUT = 10.0  # seconds for the connection, and for each part of the answer
LEASE = timedelta(seconds=120)
# How long after each attempt the next one comes: a day in all, then the message is given up.
BACKOFF = tuple(timedelta(seconds=seconds) for seconds in (10, 60, 300, 1800, 7200, 21_600, 57_600))
MOST_PER_STUDY = 20
_EVENTS = "SELECT events FROM core_webhook WHERE scope = %(scope)s AND removed_at IS NULL"
LONGEST_URL = 500


def secret_of(webhook: Webhook) -> str:
    """Return the key that signs a webhook's messages (hex); it follows from SECRET_KEY and is stored nowhere."""
    return salted_hmac("falsestep.webhook", webhook.token, algorithm="sha256").hexdigest()


def signature(secret: str, at: int, body: bytes) -> str:
    """Return the header Falsestep-Signature of a body sent at a Unix time."""
    digest = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={at},v1={digest}"


@transaction.atomic
def add_webhook(*, scope: str, url: str, events: Iterable[str], actor: User) -> Webhook:
    """Register an address for a study. Raises UserError for an address or events that cannot be."""
    asked = set(events)
    unknown = sorted(asked - set(Event.values))
    if unknown:
        raise UserError(f'no event named "{unknown[0]}"; there are: {", ".join(Event.values)}')
    if not asked:
        raise UserError(f"name at least one event of: {', '.join(Event.values)}")
    if len(url) > LONGEST_URL:
        raise UserError(f"the address has at most {LONGEST_URL} characters")
    try:
        url = plain_base_url(url, name="the address")
        if urlsplit(url).scheme != "https" and not settings.WEBHOOKS_PRIVATE:
            raise UserError("the address must begin with https://")
    except BadProvider as error:
        raise UserError(str(error)) from None
    if webhooks_of(scope).count() >= MOST_PER_STUDY:
        raise UserError(f"a study has at most {MOST_PER_STUDY} webhooks: remove one first")
    webhook = Webhook.objects.create(
        scope=scope,
        token=secrets.token_hex(10),
        url=url,
        events=" ".join(event for event in Event.values if event in asked),
        created_by=actor,
        created_at=timezone.now(),
    )
    audit.record(
        scope=scope,
        actor=actor,
        action="webhook added",
        subject=f"webhook {webhook.token}",
        payload={"host": urlsplit(url).hostname, "events": webhook.event_words},
    )
    return webhook


@transaction.atomic
def remove_webhook(*, webhook: Webhook, actor: User) -> None:
    """Send nothing more to an address; removing it again is no change."""
    now = timezone.now()
    if not Webhook.objects.filter(pk=webhook.pk, removed_at__isnull=True).update(removed_at=now):
        return
    webhook.deliveries.filter(status=Delivery.Status.WAITING).update(
        status=Delivery.Status.FAILED, next_at=None, problem="the webhook was removed"
    )
    audit.record(
        scope=webhook.scope, actor=actor, action="webhook removed", subject=f"webhook {webhook.token}"
    )


def webhooks_of(scope: str) -> QuerySet[Webhook]:
    """Return the webhooks of a study, the newest first."""
    return Webhook.objects.filter(scope=scope, removed_at__isnull=True).order_by("-created_at", "-pk")


def deliveries_of(scope: str) -> QuerySet[Delivery]:
    """Return the messages of a study, the newest first."""
    rows = Delivery.objects.filter(webhook__scope=scope).select_related("webhook")
    return rows.order_by("-created_at", "-pk")


def wants(scope: str, event: Event) -> bool:
    """Whether anybody is told of this event of a study."""
    return any(event in events.split() for (events,) in statements.rows(_EVENTS, {"scope": scope}))


def _told_of(scope: str, event: Event) -> list[Webhook]:
    rows = Webhook.objects.filter(scope=scope, removed_at__isnull=True)
    return [webhook for webhook in rows if event in webhook.event_words]


def emit(*, scope: str, event: Event, ids: dict[str, str | int]) -> None:
    """Write a message for everybody who is told of this event; it is sent once the transaction is committed."""
    hooks = _told_of(scope, event)
    if not hooks:
        return
    now = timezone.now()
    made = Delivery.objects.bulk_create(
        Delivery(
            webhook=webhook,
            token=secrets.token_hex(10),
            event=event,
            payload={"study": scope, **ids},
            created_at=now,
            next_at=now,
        )
        for webhook in hooks
    )
    transaction.on_commit(lambda: send_soon(delivery.pk for delivery in made), robust=True)


def send_soon(deliveries: Iterable[int]) -> None:
    """Ask for a worker on each delivery. A broker that is down is no error: the sweeper asks again."""
    try:
        for key in deliveries:
            current_app.send_task(DELIVER, args=[key])
    except (OperationalError, OSError) as error:
        log.warning("no broker for webhooks (%s); the sweeper will ask again", type(error).__name__)


def wake_due() -> int:
    """Ask for a worker on what is due; return how many messages that are."""
    due = Delivery.objects.filter(status=Delivery.Status.WAITING, next_at__lte=timezone.now())
    keys = list(due.order_by("next_at").values_list("pk", flat=True)[:100])
    send_soon(keys)
    return len(keys)


def forget_old(*, after: timedelta = timedelta(days=90)) -> int:
    """Delete settled messages older than 90 days; return how many rows."""
    old = Delivery.objects.filter(created_at__lt=timezone.now() - after).exclude(
        status=Delivery.Status.WAITING
    )
    return old.delete()[0]


def deliver(delivery_id: int) -> bool:
    """Try to deliver a message that is due; return whether it arrived. Two workers never send it at once."""
    now = timezone.now()
    due = Delivery.objects.filter(pk=delivery_id, status=Delivery.Status.WAITING, next_at__lte=now)
    # The lease: if this worker dies, the message is due again when it runs out.
    if not due.update(next_at=now + LEASE):
        return False
    delivery = Delivery.objects.select_related("webhook").get(pk=delivery_id)
    answered, problem = None, ""
    try:
        answered = post(delivery)
        if not 200 <= answered < 300:
            problem = f"answered {answered}"
    except BadProvider as error:
        problem = str(error)
    except (OSError, http.client.HTTPException) as error:
        problem = f"no answer: {type(error).__name__}"
    _settle(delivery, answered, problem)
    return not problem


def _settle(delivery: Delivery, answered: int | None, problem: str) -> None:
    now = timezone.now()
    attempts = delivery.attempts + 1
    changes: dict[str, object] = {"attempts": attempts, "answered": answered, "problem": problem[:200]}
    if not problem:
        changes |= {"status": Delivery.Status.DELIVERED, "next_at": None, "delivered_at": now}
    elif attempts > len(BACKOFF):
        changes |= {"status": Delivery.Status.FAILED, "next_at": None}
    else:
        changes |= {"next_at": now + BACKOFF[attempts - 1]}
    # Not if it was removed meanwhile, nor if the lease ran out and another worker counted its own attempt.
    Delivery.objects.filter(
        pk=delivery.pk, status=Delivery.Status.WAITING, attempts=delivery.attempts
    ).update(**changes)


def body_of(delivery: Delivery) -> bytes:
    """Return the JSON that is sent: the same bytes at each attempt."""
    content = {
        "delivery": delivery.token,
        "event": delivery.event,
        "at": delivery.created_at.isoformat(),
        "ids": delivery.payload,
    }
    return json.dumps(content, sort_keys=True).encode()


def post(delivery: Delivery) -> int:
    """Send a message to its address and return the HTTP status; no redirect is followed, no answer read.

    The connection goes to the very address that was checked, so that a name cannot lead elsewhere in between.
    Raises BadProvider for an address that must not be called, OSError and HTTPException when nobody answers.
    """
    webhook = delivery.webhook
    parts = urlsplit(webhook.url)
    addresses = checked_addresses(webhook.url, allow_private=settings.WEBHOOKS_PRIVATE, name="the address")
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    body = body_of(delivery)
    at = int(timezone.now().timestamp())
    connection = _pinned(parts.scheme, host, port, addresses)
    try:
        connection.request(
            "POST",
            parts.path or "/",
            body=body,
            headers={
                "Content-Type": "application/json",
                "User-Agent": "falsestep-webhook/1",
                "Falsestep-Event": delivery.event,
                "Falsestep-Delivery": delivery.token,
                "Falsestep-Signature": signature(secret_of(webhook), at, body),
            },
        )
        return connection.getresponse().status
    finally:
        connection.close()


def _pinned(
    scheme: str,
    host: str,
    port: int,
    addresses: Collection[str],
    *,
    dial: Callable[..., socket.socket] | None = None,
) -> http.client.HTTPConnection:
    """Return a connection whose socket goes to one of `addresses`, with TLS for `host` where it is https."""
    dial = dial or socket.create_connection
    # IPv4 first: a container often has no way out by IPv6.
    target = sorted(addresses, key=lambda text: (ipaddress.ip_address(text.split("%")[0]).version, text))[0]
    raw = dial((target, port), timeout=TIMEOUT)
    connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT)
    try:
        connection.sock = (
            ssl.create_default_context().wrap_socket(raw, server_hostname=host) if scheme == "https" else raw
        )
    except BaseException:
        raw.close()
        raise
    return connection
