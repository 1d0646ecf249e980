"""Numbers as tables print them."""

from __future__ import annotations

from django import template

from monitoring.report.moved import PRINTED
from monitoring.report.moved import printed as as_printed

register = template.Library()


@register.filter
def printed(value: float | None) -> str:
    """Return a figure with three decimals, a whole number whole."""
    return as_printed(value)


@register.filter
def signed(value: float | None) -> str:
    """Return a difference with its sign."""
    if value is None:
        return ""
    return f"{value:+.{PRINTED}f}" if not float(value).is_integer() else f"{int(value):+d}"
