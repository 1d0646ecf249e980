"""The guideline: to read in every version, and for the lead to publish the next."""

from __future__ import annotations

import difflib

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from annotation import queries
from annotation.access import roles_in, study_for
from annotation.models import Role
from annotation.services.guideline import TEXT_LENGTH, InvalidGuideline, first_guideline, publish_guideline
from core.access import person_of
from core.errors import Conflict


@require_GET
def guideline(request: HttpRequest, slug: str, version: int | None = None) -> HttpResponse:
    """Show one version in full, the newest if none is named, with what changed since the one before."""
    person = person_of(request)
    study = study_for(person, slug)
    versions = list(queries.guidelines_of(study))
    shown = next((one for one in versions if one.version == version), None) if version else None
    if version is None and versions:
        shown = versions[-1]
    if shown is None and version not in (None, 1):
        raise Http404("no such version")
    before = next((one for one in versions if shown and one.version == shown.version - 1), None)
    return render(
        request,
        "annotation/guideline.html",
        {
            "study": study,
            "text": shown.text if shown else first_guideline(),
            "version": shown.version if shown else 1,
            "published": shown.created_at if shown else None,
            "newest": versions[-1].version if versions else 1,
            "versions": versions,
            "changes": _changes(before.text, shown.text) if before and shown else [],
            "may_edit": Role.LEAD in roles_in(study, person),
        },
    )


@require_http_methods(["GET", "HEAD", "POST"])
def edit_guideline(request: HttpRequest, slug: str) -> HttpResponse:
    """Let the lead write the next version; the earlier ones stay as they are."""
    person = person_of(request)
    study = study_for(person, slug, Role.LEAD)
    newest = queries.guideline_of(study)
    version = newest.version if newest else 1
    text, error, status = (newest.text if newest else first_guideline()), "", 200
    if request.method == "POST":
        text = request.POST.get("text", "")
        expected = request.POST.get("version", "")
        try:
            made = publish_guideline(
                study=study,
                text=text,
                expected_version=int(expected) if expected.isdecimal() and len(expected) < 6 else 0,
                actor=person,
            )
        except InvalidGuideline as refusal:
            error, status = str(refusal), 422
        except Conflict as refusal:
            error, status = str(refusal), 409
        else:
            messages.success(
                request,
                f"Version {made.version} is in force. Annotators are told when they next open a trace.",
            )
            return redirect("guideline", study.slug)
    context = {"study": study, "text": text, "version": version, "error": error, "limit": TEXT_LENGTH}
    return render(request, "annotation/guideline_edit.html", context, status=status)


def _changes(before: str, after: str) -> list[tuple[str, str]]:
    """Return the lines that went and came, as (kind, text): "went", "came", or "same" around them."""
    kinds = {"-": "went", "+": "came", " ": "same"}
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=1)
    return [(kinds[line[0]], line[1:]) for line in list(lines)[2:] if line[0] in kinds]
