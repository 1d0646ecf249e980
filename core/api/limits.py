"""Limits: how long a page and a body may be, how often one person may ask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from rest_framework import exceptions, pagination, parsers, throttling
from rest_framework.request import Request

from core.api.errors import TooLarge


class Pages(pagination.PageNumberPagination):
    """`?page=2&page_size=100`: 50 rows a page unless asked otherwise, at most 200."""

    page_size = 50
    max_page_size = 200
    page_size_query_param = "page_size"


class BoundedJSONParser(parsers.JSONParser):
    """JSON no longer than a form may be: DRF reads the stream, past Django's own limit."""

    def parse(
        self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        length = stream.META.get("CONTENT_LENGTH") if hasattr(stream, "META") else None
        limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        if limit is not None and length and int(length) > limit:
            raise TooLarge(f"a body has at most {limit} bytes")
        try:
            return super().parse(stream, media_type, parser_context)
        except RecursionError:
            raise exceptions.ParseError("this JSON is nested too deeply") from None


class PersonRate(throttling.UserRateThrottle):
    """Requests of one person, whatever the token; DEFAULT_THROTTLE_RATES has the rate."""

    scope = "person"


class HeavyRate(throttling.UserRateThrottle):
    """Requests that compute for seconds, such as a plan or a freeze."""

    scope = "heavy"


def heavy(request: Request) -> list[throttling.BaseThrottle]:
    """Return the throttles of a heavy request."""
    return [PersonRate(), HeavyRate()]
