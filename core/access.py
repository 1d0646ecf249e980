"""The signed-in person of a request, typed."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from core.models import User


def person_of(request: HttpRequest) -> User:
    """Return the signed-in person; PermissionDenied if there is none (the middleware asks for it before)."""
    if not isinstance(request.user, User):
        raise PermissionDenied("sign in first")
    return request.user
