"""Confirming who one is: what costs money, hands out texts or gives rights asks for a recent sign-in."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.auth import SESSION_KEY, user_logged_in
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

KEY = "confirmed_at"
AHEAD = 60  # seconds that clocks may differ by


class ConfirmFirst(Exception):
    """The request needs a recent sign-in; `back` is the page from which it can be sent again."""

    def __init__(self, back: str) -> None:
        self.back = back
        super().__init__("confirm who you are first")


def confirm(request: HttpRequest, *, at: float | None = None) -> None:
    """Note that the person showed who they are, now or at an earlier time (seconds since 1970)."""
    request.session[KEY] = time.time() if at is None else at


def is_confirmed(request: HttpRequest) -> bool:
    """Whether the person showed who they are in the last FALSESTEP_SUDO_MINUTES."""
    at = request.session.get(KEY)
    if not isinstance(at, int | float) or SESSION_KEY not in request.session:
        return False
    return -AHEAD <= time.time() - at < settings.SUDO_MINUTES * 60


def require(request: HttpRequest, *, back: str) -> None:
    """Raise ConfirmFirst unless the person showed who they are lately."""
    if not is_confirmed(request):
        raise ConfirmFirst(back)


class ConfirmMiddleware:
    """Leads whoever must confirm first to the page for it, and back."""

    def __init__(self, get_response: Any) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response: HttpResponse = self.get_response(request)
        return response

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Answer ConfirmFirst with the way to the page."""
        if not isinstance(exception, ConfirmFirst):
            return None
        return redirect(f"{reverse('confirm')}?{urlencode({'next': exception.back})}")


def _signed_in(*, request: HttpRequest | None, user: Any, **_: Any) -> None:
    if request is not None and hasattr(request, "session"):
        # An OpenID provider may have let the person through without asking: core.oidc says when it asked.
        at = getattr(request, "asked_by_provider_at", None)
        confirm(request, at=at)


user_logged_in.connect(_signed_in, dispatch_uid="core.sudo.in")
