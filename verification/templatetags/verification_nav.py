"""The links between the pages of verification."""

from __future__ import annotations

from typing import Any

from django import template

from annotation.access import roles_in
from annotation.models import Role, Study

register = template.Library()


@register.inclusion_tag("verification/_nav.html", takes_context=True)
def verification_nav(context: dict[str, Any], study: Study, here: str) -> dict[str, Any]:
    """Show the links that open to the person; the experts' queue is the leads'."""
    return {
        "study": study,
        "here": here,
        "is_expert": Role.LEAD in roles_in(study, context["request"].user),
    }
