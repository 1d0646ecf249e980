"""How long a session lasts: idle time, moved on as seldom as it can be, and an end that no activity moves."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib.auth import SESSION_KEY, logout, user_logged_in
from django.http import HttpRequest, HttpResponse

SEEN = "seen_at"
BEGAN = "began_at"
COARSE = 300  # seconds: a finer note would cost a write for each request


class IdleLimit:
    """Ends a session that was idle, or is too old. Drafts lie on the server and in the browser, and stay."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        session = request.session
        if SESSION_KEY in session:
            now = time.time()
            began, seen = session.get(BEGAN), session.get(SEEN)
            if began is None or seen is None:
                session[BEGAN] = session[SEEN] = now
            elif now - seen > settings.IDLE_SECONDS or now - began > settings.SESSION_SECONDS:
                logout(request)
            elif now - seen > min(COARSE, settings.IDLE_SECONDS / 2) and not _by_itself(request):
                session[SEEN] = now
        return self.get_response(request)


def _by_itself(request: HttpRequest) -> bool:
    """Whether a page may have asked without anybody sitting there: figures that move are fetched by htmx."""
    return request.method == "GET" and request.headers.get("HX-Request") == "true"


def _signed_in(*, request: HttpRequest | None, **_: Any) -> None:
    if request is not None and hasattr(request, "session"):
        request.session[BEGAN] = request.session[SEEN] = time.time()


user_logged_in.connect(_signed_in, dispatch_uid="core.sessions.in")
