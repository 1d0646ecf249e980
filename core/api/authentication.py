"""Who asks: a program with a token, or a person's browser with its session and CSRF token."""

from __future__ import annotations

from rest_framework import authentication, exceptions
from rest_framework.request import Request

from core.models import ApiToken, User
from core.tokens import note_use, token_of_key

KEYWORD = "Bearer"


class TokenAuthentication(authentication.BaseAuthentication):
    """`Authorization: Bearer fs_...`: 401 for a key that is unknown, expired or revoked, all in the same words."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        """Return the person and the token; None where the header is absent or of another kind."""
        words = authentication.get_authorization_header(request).split()
        if not words or words[0].lower() != KEYWORD.lower().encode():
            return None
        if len(words) != 2:
            raise exceptions.AuthenticationFailed(f"the header reads: Authorization: {KEYWORD} KEY")
        token = token_of_key(words[1].decode("latin-1"))
        if token is None:
            raise exceptions.AuthenticationFailed("this token is unknown, has expired or was revoked")
        note_use(token)
        return token.person, token

    def authenticate_header(self, request: Request) -> str:
        """Return what a 401 says is wanted."""
        return f'{KEYWORD} realm="falsestep"'


class SessionAuthentication(authentication.SessionAuthentication):
    """The session of a signed-in browser; what changes anything needs the CSRF token too."""
