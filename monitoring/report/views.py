"""The report's page: reads what is stored, orders what is not. GET never computes."""

from __future__ import annotations

import json
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.dateparse import parse_datetime
from django.views.decorators.http import require_GET, require_POST

from adjudication.models import ReferenceStandard
from annotation.access import study_for
from annotation.models import Role, Study
from core.access import person_of
from core.errors import UserError
from monitoring.models import StoredReport
from monitoring.report import queries, sentences, series, services, svg
from monitoring.report.tables import tables
from stats.report import Options

SECTIONS = (
    ("detection", "Detection"),
    ("localisation", "Localisation"),
    ("cells", "Wrong and critical traces"),
    ("certificates", "False certificates"),
    ("revision", "Second looks"),
    ("standard", "The standard"),
    ("outcomes", "Outcomes"),
)
READERS = (Role.LEAD, Role.ADMINISTRATOR)


def _standard(study: Study, version: int | None) -> ReferenceStandard:
    try:
        return queries.standard_for(study, version)
    except UserError as error:
        raise Http404(str(error)) from error


@require_GET
def report_latest(request: HttpRequest, slug: str) -> HttpResponse:
    """Lead to the report on the newest standard; say what is missing where there is none."""
    study = study_for(person_of(request), slug, *READERS)
    newest = study.standards.order_by("-version").first()
    if newest is None:
        return render(request, "monitoring/report.html", {"study": study})
    return redirect("report", study.slug, newest.version)


@require_GET
def report(request: HttpRequest, slug: str, version: int) -> HttpResponse:
    """Show the report on one standard: stored numbers, or how to get them."""
    study = study_for(person_of(request), slug, *READERS)
    standard = _standard(study, version)
    standing = queries.standing_of(study, standard, Options())
    if request.htmx:  # type: ignore[attr-defined]  # the middleware of django-htmx sets it
        return _polled(request, study, standard, standing)
    context: dict[str, Any] = {
        "study": study,
        "standard": standard,
        "versions": list(study.standards.order_by("-version").values_list("version", flat=True)),
        "standing": standing,
        "order": _order(standing.pending),
    }
    if standing.ready is not None:
        context |= _shown(queries.document_of(standing.ready))
    return render(request, "monitoring/report.html", context)


def _polled(
    request: HttpRequest, study: Study, standard: ReferenceStandard, standing: queries.Standing
) -> HttpResponse:
    """Answer a page that waits: the same words while the order stands, then word to load anew."""
    order = _order(standing.pending)
    if order is None or order["state"] != queries.ORDERED:
        return HttpResponse(status=204, headers={"HX-Refresh": "true"})
    context = {"study": study, "standard": standard, "standing": standing, "order": order}
    return render(request, "monitoring/_report_state.html", context)


def _order(pending: StoredReport | None) -> dict[str, Any] | None:
    if pending is None:
        return None
    return {**pending.content, "ordered_at": parse_datetime(pending.content["ordered_at"])}


def _shown(document: dict[str, Any]) -> dict[str, Any]:
    panels = series.ladder_panels(document)
    localisation, bars = series.localisation_panel(document), series.place_bars(document)
    made = tables(document)
    lines = {line.name: line for panel in panels for line in panel.lines}
    return {
        "document": document,
        "summary": sentences.summary(document),
        "small_print": sentences.small_print(document),
        "panels": [svg.panel_svg(panel) for panel in panels],
        "localisation": svg.panel_svg(localisation) if localisation else "",
        "bars": svg.bars_svg(bars) if bars else "",
        "legend": [(svg.legend_mark(line), line.name) for line in lines.values()],
        "sections": [
            (key, title, [table for table in made if table.section == key])
            for key, title in SECTIONS
            if any(table.section == key for table in made)
        ],
    }


@require_POST
def report_compute(request: HttpRequest, slug: str, version: int) -> HttpResponse:
    """Order the report on one standard from a worker."""
    person = person_of(request)
    study = study_for(person, slug, *READERS)
    standard = _standard(study, version)
    services.order_report(study=study, standard=standard, options=Options(), actor=person)
    return redirect("report", study.slug, standard.version)


@require_GET
def report_json(request: HttpRequest, slug: str, version: int) -> HttpResponse:
    """Hand out the stored document, unrounded."""
    study = study_for(person_of(request), slug, *READERS)
    standard = _standard(study, version)
    stored = queries.standing_of(study, standard, Options()).ready
    if stored is None:
        raise Http404("this report was not computed yet")
    text = json.dumps(queries.document_of(stored), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    name = f"{study.slug}-standard-{standard.version}.json"
    return HttpResponse(
        text,
        content_type="application/json",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )
