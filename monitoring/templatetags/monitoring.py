"""Words for templates of monitoring."""

from __future__ import annotations

import json
from typing import Any

from django import template

register = template.Library()


@register.filter
def spaced(word: str) -> str:
    """Return a stored word as people write it: "provider_error": provider error."""
    return word.replace("_", " ")


@register.filter
def as_json(value: Any) -> str:
    """Return a value as JSON, to be read."""
    return json.dumps(value, ensure_ascii=False)
