"""Limits: how long a page and a body may be, how often one person may ask."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from redis.exceptions import RedisError
from rest_framework import exceptions, pagination, parsers, throttling
from rest_framework.request import Request

from core.api.errors import TooLarge

logger = logging.getLogger("falsestep.api")


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


class _Rate(throttling.UserRateThrottle):
    """So many requests in the window that a person's first request opens, counted where every web process counts.

    One atomic step each, unlike a list of times read, changed and written. Where the counter cannot be reached,
    everybody is let through: an outage of the cache must not close the site.
    """

    def allow_request(self, request: Request, view: Any) -> bool:
        """Count this request; False if it is one too many."""
        key = self.get_cache_key(request, view) if self.rate else None
        if key is None:
            return True
        self.left = float(self.duration)
        try:
            if self.cache.add(key, 1, self.duration):
                self.cache.set(f"{key}:until", self.timer() + self.duration, self.duration)
                return True
            if self.cache.incr(key) <= self.num_requests:
                return True
            self.left = self.cache.get(f"{key}:until", self.timer() + 1) - self.timer()
        except ValueError:  # the window closed between the steps
            return True
        except (OSError, RedisError) as error:
            logger.warning("requests are not counted: %s", type(error).__name__)
            return True
        return False

    def wait(self) -> float:
        """Return the seconds until the window closes."""
        return float(max(1, math.ceil(self.left)))


class PersonRate(_Rate):
    """Requests of one person, whatever the token; DEFAULT_THROTTLE_RATES has the rate."""

    scope = "person"


class HeavyRate(_Rate):
    """Requests that compute for seconds, such as a plan or a freeze."""

    scope = "heavy"


def heavy(request: Request) -> list[throttling.BaseThrottle]:
    """Return the throttles of a heavy request."""
    return [PersonRate(), HeavyRate()]
