"""Downloading the labels: the page that offers it, and the file in pieces."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from annotation import blindness
from annotation.access import study_for
from annotation.exports.streams import FORMATS
from annotation.models import Role, Study
from annotation.services.exporting import ARMS, StillBlind, file_name, stream_labels
from core import sudo
from core.access import person_of
from core.errors import UserError


@require_GET
def exports(request: HttpRequest, slug: str) -> HttpResponse:
    """Offer the labels to an administrator, or say why not now."""
    person = person_of(request)
    study = study_for(person, slug, Role.ADMINISTRATOR)
    return _page(request, study, reasons=blindness.why_not_all_labels(study, person))


@require_POST
def download_labels(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Send the labels. It is a POST, since the audit trail records it."""
    person = person_of(request)
    study = study_for(person, slug, Role.ADMINISTRATOR)
    sudo.require(request, back=reverse("exports", args=[slug]))
    format, arm = request.POST.get("format", ""), request.POST.get("arm", "")
    try:
        pieces = stream_labels(study=study, format=format, arm=arm, actor=person)
    except StillBlind as error:
        return _page(request, study, reasons=error.reasons, status=403)
    except UserError as error:
        return _page(request, study, error=str(error), status=422)
    response = StreamingHttpResponse(pieces, content_type=FORMATS[format].content_type)
    name = file_name(study=study, format=format, arm=arm)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["Cache-Control"] = "no-store"
    return response


def _page(
    request: HttpRequest,
    study: Study,
    *,
    reasons: list[str] | None = None,
    error: str = "",
    status: int = 200,
) -> HttpResponse:
    return render(
        request,
        "annotation/exports.html",
        {"study": study, "reasons": reasons or [], "error": error, "formats": FORMATS, "arms": ARMS},
        status=status,
    )
