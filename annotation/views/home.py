"""Home: what waits for me; and the page of one study, as a line of stages."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation import queries, stages
from annotation.access import roles_in, study_for
from core.access import person_of

SHOWN_STUDIES = 6


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Show what waits for the person in all their studies, then their studies."""
    person = person_of(request)
    mine = queries.studies_of(person)
    waiting = [
        {"study": study, "task": task}
        for study, roles in mine
        for task in stages.waiting(study, person, roles)
    ]
    studies = [
        {"study": study, "roles": sorted(roles), "line": stages.line(study, person, roles)}
        for study, roles in mine[:SHOWN_STUDIES]
    ]
    return render(
        request,
        "annotation/home.html",
        {
            "waiting": waiting,
            "studies": studies,
            "others": [study for study, _ in mine[SHOWN_STUDIES:]],
            "several": len(mine) > 1,
        },
    )


@require_safe
def study(request: HttpRequest, slug: str) -> HttpResponse:
    """Show one study: its stages with counts, and what waits for the person in it."""
    person = person_of(request)
    found = study_for(person, slug)
    roles = frozenset(roles_in(found, person))
    return render(
        request,
        "annotation/study.html",
        {
            "study": found,
            "roles": sorted(roles),
            "line": stages.line(found, person, roles),
            "waiting": [{"study": found, "task": task} for task in stages.waiting(found, person, roles)],
        },
    )
