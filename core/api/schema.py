"""The OpenAPI description: every operation tells its errors and how to sign in."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema as SpectacularSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

from core.api.errors import ErrorSerializer
from core.idempotency import LONGEST_KEY

WORDS = {
    "400": "The request does not read as described; `fields` says where.",
    "401": "Nobody is signed in, or the token is unknown, expired or revoked.",
    "403": "The person's role in the study, or the token's scope, does not allow this.",
    "404": "There is nothing here that this person may know of.",
    "406": "Only JSON is spoken here.",
    "409": "Somebody else, another tab or an earlier request came first; nothing was changed.",
    "413": "The body is too large.",
    "415": "The body is not JSON.",
    "422": "The request reads well and cannot be carried out; nothing was changed.",
    "429": "Too many requests; `Retry-After` says when to ask again.",
}


IDEMPOTENCY_KEY = OpenApiParameter(
    name="Idempotency-Key",
    type={"type": "string", "minLength": 1, "maxLength": LONGEST_KEY, "pattern": "^[!-~]+$"},
    location=OpenApiParameter.HEADER,
    description="Any string of your choice: the same request with it again, within 24 hours, gives the same answer "
    "and does nothing; another request with it is refused (422).",
)
RETRY_AFTER = OpenApiParameter(
    name="Retry-After",
    type=OpenApiTypes.INT,
    location=OpenApiParameter.HEADER,
    description="Seconds until the next request is answered.",
    response=["429"],
)
REPLAYED = OpenApiParameter(
    name="Idempotency-Replayed",
    type=OpenApiTypes.STR,
    location=OpenApiParameter.HEADER,
    enum=["true"],
    description="This answer was kept: nothing was done now.",
    response=["200", "201"],
)


class AutoSchema(SpectacularSchema):
    """Adds the errors that follow from the kind of an operation, and tags by the second part of the path."""

    def get_tags(self) -> list[str]:
        """Return the part of the application: studies, disputes, batches ..."""
        words = [word for word in self.path.split("/") if word and not word.startswith("{")][2:]
        return [words[1] if words[0] == "studies" and len(words) > 1 else words[0]]

    def get_override_parameters(self) -> list[Any]:
        """Return the headers that every operation shares."""
        shared = [RETRY_AFTER]
        return shared if self.method == "GET" else [*shared, IDEMPOTENCY_KEY, REPLAYED]

    def _get_response_bodies(self, direction: str = "response") -> Any:
        bodies = super()._get_response_bodies(direction)
        for code in self._error_codes():
            if code not in bodies:
                told = OpenApiResponse(ErrorSerializer, description=WORDS[code])
                bodies[code] = self._get_response_for_code(told, code)
        return dict(sorted(bodies.items()))

    def _error_codes(self) -> list[str]:
        codes = {"401", "403", "406", "429"}
        if self.path.count("{") or self._is_list_view():
            codes.add("404")
        if self.method != "GET":
            codes |= {"400", "409", "413", "415", "422"}
        elif any(parameter["in"] == "query" for parameter in self._get_parameters()):
            codes |= {"400", "422"}
        return sorted(codes)


class TokenScheme(OpenApiAuthenticationExtension):
    """How a token is sent."""

    target_class = "core.api.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "bearerFormat": "fs_..."}


class SessionScheme(OpenApiAuthenticationExtension):
    """How a browser's session is sent; writes need the header X-CSRFToken too."""

    target_class = "core.api.authentication.SessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "apiKey", "in": "cookie", "name": settings.SESSION_COOKIE_NAME}
