"""Filters that show a coefficient with what it rests on, or why it is undefined."""

from __future__ import annotations

import math

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from stats.agreement import Coefficient

register = template.Library()


@register.filter
def share(found: Coefficient) -> SafeString:
    """Return a share as "85.9%", or "undefined" with the reason."""
    if math.isnan(found.value):
        return _undefined(found)
    return format_html("{}%", f"{100 * found.value:.1f}")


@register.filter
def coefficient(found: Coefficient) -> SafeString:
    """Return a coefficient as "0.62", or "undefined" with the reason."""
    if math.isnan(found.value):
        return _undefined(found)
    return format_html("{}", f"{found.value:.2f}".replace("-", "\N{MINUS SIGN}"))


@register.filter
def share_of(value: float) -> str:
    """Return a share as "80%"."""
    return f"{100 * value:g}%"


def _undefined(found: Coefficient) -> SafeString:
    return format_html('<span class="muted">undefined<span class="why">{}</span></span>', found.reason)
