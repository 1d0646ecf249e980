"""Throttling of sign-in: counted in the database, per account, per browser that is known, and per address.

A try is written down before the password is looked at and struck out when it was right, so that tries at once
count too. A stranger can use up an account's tries from browsers that never signed in to it, never those of a
browser that did: it carries a signed cookie and counts by itself. Nothing is locked for longer than WINDOW.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from core.models import SignInFailure, User

WINDOW = timedelta(minutes=15)
LIMITS: Mapping[str, int] = {
    SignInFailure.Kind.ACCOUNT: 10,
    SignInFailure.Kind.BROWSER: 10,
    SignInFailure.Kind.ADDRESS: 60,
}
COOKIE = "known"
COOKIE_SALT = "core.throttle.known"
COOKIE_AGE = timedelta(days=180)
LONGEST_NAME = 150


@dataclass(frozen=True)
class Try:
    """A try that may go on: the rows that tell of it."""

    rows: tuple[int, ...] = ()


@dataclass(frozen=True)
class TooMany:
    """A try that is not looked at; another may be made in `minutes` at the latest."""

    minutes: int


def address_of(request: HttpRequest) -> str:
    """Return where a request comes from: as the last of FALSESTEP_PROXIES proxies tells, else the peer.

    What stands further left in X-Forwarded-For was written by whoever asks, and is not believed.
    """
    proxies = settings.PROXIES
    said: list[str] = [
        part.strip() for part in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",") if part.strip()
    ]
    if proxies and len(said) >= proxies:
        return said[-proxies]
    return str(request.META.get("REMOTE_ADDR", ""))


def begin(request: HttpRequest, name: str) -> Try | TooMany:
    """Write a try down before its password is looked at, or say that it is one too many."""
    now = timezone.now()
    SignInFailure.objects.filter(at__lt=now - WINDOW).delete()
    rows = SignInFailure.objects.bulk_create(
        [SignInFailure(kind=kind, key=key, at=now) for kind, key in _keys(request, name)]
    )
    for row in rows:
        earlier = SignInFailure.objects.filter(kind=row.kind, key=row.key, at__gte=now - WINDOW)
        oldest = list(earlier.order_by("at", "pk").values_list("at", flat=True)[: LIMITS[row.kind] + 1])
        if len(oldest) > LIMITS[row.kind]:
            # What is refused unseen does not count, or asking on and on would shut a door for ever.
            SignInFailure.objects.filter(pk__in=[one.pk for one in rows]).delete()
            left = oldest[0] + WINDOW - now
            return TooMany(max(1, -int(-left.total_seconds() // 60)))
    return Try(tuple(row.pk for row in rows))


def succeeded(allowed: Try) -> None:
    """Strike a try out whose password was right."""
    SignInFailure.objects.filter(pk__in=allowed.rows).delete()


def remember(response: HttpResponse, person: User) -> None:
    """Let the browser carry that this person signed in with it."""
    response.set_cookie(
        COOKIE,
        signing.dumps([person.pk, person.username.casefold()], salt=COOKIE_SALT),
        max_age=int(COOKIE_AGE.total_seconds()),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _keys(request: HttpRequest, name: str) -> Iterator[tuple[str, str]]:
    account = name.casefold().strip()[:LONGEST_NAME]
    cookie = request.COOKIES.get(COOKIE, "")
    if _knows(cookie, account):
        # A browser of that person is counted by itself: not with strangers, nor with its whole institute.
        yield SignInFailure.Kind.BROWSER, _hashed(cookie)
        return
    yield SignInFailure.Kind.ACCOUNT, _hashed(account)
    yield SignInFailure.Kind.ADDRESS, _hashed(_network(address_of(request)))


def _knows(cookie: str, account: str) -> bool:
    try:
        said = signing.loads(cookie, salt=COOKIE_SALT, max_age=COOKIE_AGE)
    except signing.BadSignature:
        return False
    return isinstance(said, list) and len(said) == 2 and said[1] == account


def _network(address: str) -> str:
    """Return the address, of IPv6 the /64 that one customer has."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)


def _hashed(text: str) -> str:
    return hmac.new(settings.SECRET_KEY.encode(), text.encode("utf-8", "replace"), hashlib.sha256).hexdigest()
