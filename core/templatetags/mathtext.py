"""Template filters for mathematical text."""

from __future__ import annotations

from django import template
from django.utils.safestring import SafeString, mark_safe

from core import mathtext as texts

register = template.Library()


@register.filter
def mathtext(text: str) -> SafeString:
    """Show running text: Markdown with LaTeX."""
    return mark_safe(texts.render(text or ""))  # noqa: S308  # render sanitises


@register.filter
def mathline(text: str) -> SafeString:
    """Show one line, such as an answer: Markdown with LaTeX, without a paragraph."""
    return mark_safe(texts.render_inline(text or ""))  # noqa: S308  # render_inline sanitises
