"""Every route of the API, found in the address table itself, so that none is forgotten."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")
NOWHERE = "api/"  # what stands for every other address


def routes() -> list[str]:
    """Return the routes under /api/ as they are written, such as `api/v1/studies/<slug:slug>/`."""
    return sorted(route for route in _walk(get_resolver().url_patterns, "") if route.startswith("api/"))


def _walk(patterns: Any, before: str) -> Iterator[str]:
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _walk(pattern.url_patterns, route)
        elif isinstance(pattern, URLPattern):
            yield route


def address(route: str, values: dict[str, object]) -> str:
    """Return the address of a route with the values in their places."""
    return "/" + PARAMETER.sub(lambda match: str(values[match[1]]), route)
