"""The page that tells which figures change from one standard to another."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from adjudication.access import standard_for
from core.access import person_of
from monitoring.report.moved import compare, figures_of


@require_safe
def standard_figures(request: HttpRequest, slug: str, version: int, other: int) -> HttpResponse:
    """Score the stored verdicts under two standards and show what moved."""
    person = person_of(request)
    old = standard_for(person, slug, version)
    new = standard_for(person, slug, other)
    every = request.GET.get("figures") == "all"
    found = compare(figures_of(old.study, old), figures_of(new.study, new))
    sections = [
        (title, shown)
        for title, figures in found.sections
        if (shown := [figure for figure in figures if every or figure.prints_otherwise])
    ]
    return render(
        request,
        "monitoring/standard_figures.html",
        {"study": old.study, "old": old, "new": new, "found": found, "sections": sections, "every": every},
    )
