"""Template tags of pages inside a study."""

from __future__ import annotations

from typing import Any

from django import template

from annotation import stages
from annotation.access import roles_in
from annotation.models import Study

register = template.Library()


@register.inclusion_tag("annotation/_nav.html", takes_context=True)
def study_nav(context: dict[str, Any], study: Study) -> dict[str, Any]:
    """Show links to the pages of a study that the person's roles open; one query, once per page."""
    request = context["request"]
    roles = frozenset(roles_in(study, request.user))
    here = request.path
    links, seen = [], set()
    for stage in stages.stages():
        url = stage.url(study, roles) if stage.nav_title else None
        if url and url not in seen:
            seen.add(url)
            links.append({"title": stage.nav_title, "url": url, "current": here.startswith(url)})
    return {"links": links}
