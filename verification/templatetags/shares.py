"""Template filters for shares and differences of shares."""

from __future__ import annotations

from django import template

register = template.Library()


@register.filter
def percent(value: float | None) -> str:
    """Show a share with two decimals in per cent; "undefined" for none."""
    return "undefined" if value is None else f"{100 * value:.2f}%"


@register.filter
def points(value: float | None) -> str:
    """Show a difference of shares in points, with its sign."""
    return "undefined" if value is None else f"{100 * value:+.2f}"
