"""What a request may do before any role is looked at: signed in, and with the scope of its token."""

from __future__ import annotations

from typing import Any

from rest_framework import exceptions, permissions
from rest_framework.request import Request

from core.models import ApiToken, Scope


class HasScope(permissions.BasePermission):
    """Somebody is signed in; a token has `read` to read, and the view's `write_scope` to change anything."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """Return False for nobody (DRF makes it 401); raise PermissionDenied for a token that lacks the scope."""
        if not request.user.is_authenticated:
            return False
        if not isinstance(request.auth, ApiToken):
            return True
        safe = request.method in permissions.SAFE_METHODS
        needed = Scope.READ if safe else getattr(view, "write_scope", None)
        if needed is not None and needed not in request.auth.scope_words:
            raise exceptions.PermissionDenied(f'this token lacks the scope "{needed}"')
        return True
