"""The report's pages: they read what is stored and order what is not. GET never computes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.dateparse import parse_datetime
from django.views.decorators.http import require_GET, require_POST

from adjudication.models import ReferenceStandard
from annotation.models import Study
from core.access import person_of
from core.errors import UserError
from core.models import User
from monitoring.models import StoredReport
from monitoring.report import compare, queries, services
from monitoring.report.access import document_for, is_blind, study_of_report, study_of_traces
from monitoring.report.behind import Asked, labels_behind, tally, verdicts_behind
from monitoring.report.changed import changes_behind
from monitoring.report.links import ALL, traces_address
from monitoring.report.methods import methods_text
from monitoring.report.selection import Selection, choices
from monitoring.report.shown import shown
from stats.report import Options

ON_A_PAGE = 100


def _standard(study: Study, version: int | None) -> ReferenceStandard:
    try:
        return queries.standard_for(study, version)
    except UserError as error:
        raise Http404(str(error)) from error


def _selection(values: Mapping[str, Any], *, blind: bool) -> Selection:
    return Selection.read(values, generators=not blind)


def _with_query(address: str, selection: Selection) -> str:
    return f"{address}?{urlencode(selection.parts)}" if selection.parts else address


@require_GET
def report_latest(request: HttpRequest, slug: str) -> HttpResponse:
    """Lead to the report on the newest standard; say what is missing where there is none."""
    study = study_of_report(person_of(request), slug)
    newest = study.standards.order_by("-version").first()
    if newest is None:
        return render(request, "monitoring/report.html", {"study": study})
    return redirect("report", study.slug, newest.version)


@require_GET
def report(request: HttpRequest, slug: str, version: int) -> HttpResponse:
    """Show the report on one standard, or a part of it: stored numbers, or how to get them."""
    person = person_of(request)
    study = study_of_report(person, slug)
    standard = _standard(study, version)
    blind = is_blind(person, study)
    selection = _selection(request.GET, blind=blind)
    standing = queries.standing_of(study, standard, Options(), selection)
    if request.htmx:  # type: ignore[attr-defined]  # the middleware of django-htmx sets it
        return _polled(request, study, standard, standing, selection)
    versions = list(study.standards.order_by("-version").values_list("version", flat=True))
    context: dict[str, Any] = {
        "study": study,
        "standard": standard,
        "versions": versions,
        "standing": standing,
        "order": _order(standing.pending),
        "selection": selection,
        "choices": choices(standard, generators=not blind),
        "query": urlencode(selection.parts),
        "here": _with_query(reverse("report", args=[slug, version]), selection),
        "blind": blind,
    }
    if standing.ready is not None:
        traces = None if blind else traces_address(standard, selection.parts)
        context |= shown(document_for(person, study, standing.ready), traces)
    return render(request, "monitoring/report.html", context)


def _polled(
    request: HttpRequest,
    study: Study,
    standard: ReferenceStandard,
    standing: queries.Standing,
    selection: Selection,
) -> HttpResponse:
    """Answer a page that waits: the same words while the order stands, then word to load anew."""
    order = _order(standing.pending)
    if order is None or order["state"] != queries.ORDERED:
        return HttpResponse(status=204, headers={"HX-Refresh": "true"})
    context = {
        "study": study,
        "standard": standard,
        "standing": standing,
        "order": order,
        "selection": selection,
        "here": _with_query(reverse("report", args=[study.slug, standard.version]), selection),
    }
    return render(request, "monitoring/_report_state.html", context)


def _order(pending: StoredReport | None) -> dict[str, Any] | None:
    if pending is None:
        return None
    return {**pending.content, "ordered_at": parse_datetime(pending.content["ordered_at"])}


@require_POST
def report_compute(request: HttpRequest, slug: str, version: int) -> HttpResponse:
    """Order the report on one standard, or a part of it, from a worker."""
    person = person_of(request)
    study = study_of_report(person, slug)
    standard = _standard(study, version)
    selection = _selection(request.POST, blind=is_blind(person, study))
    services.order_report(
        study=study, standard=standard, options=Options(), actor=person, selection=selection
    )
    return redirect(_with_query(reverse("report", args=[study.slug, standard.version]), selection))


def _stored_document(
    person: User, study: Study, standard: ReferenceStandard, selection: Selection
) -> dict[str, Any]:
    stored = queries.standing_of(study, standard, Options(), selection).ready
    if stored is None:
        raise Http404("this report was not computed yet")
    return document_for(person, study, stored)


@require_GET
def report_json(request: HttpRequest, slug: str, version: int) -> HttpResponse:
    """Hand out the stored document, unrounded, as far as this person may see it."""
    person = person_of(request)
    study = study_of_report(person, slug)
    standard = _standard(study, version)
    selection = _selection(request.GET, blind=is_blind(person, study))
    document = _stored_document(person, study, standard, selection)
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    return _download(text, "application/json", f"{study.slug}-standard-{standard.version}.json")


@require_GET
def report_methods(request: HttpRequest, slug: str, version: int) -> HttpResponse:
    """Hand out the methods paragraph as text."""
    person = person_of(request)
    study = study_of_report(person, slug)
    standard = _standard(study, version)
    selection = _selection(request.GET, blind=is_blind(person, study))
    text = methods_text(_stored_document(person, study, standard, selection))
    return _download(
        text, "text/plain; charset=utf-8", f"{study.slug}-standard-{standard.version}-methods.txt"
    )


def _download(text: str, kind: str, name: str) -> HttpResponse:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(text, content_type=kind, headers=headers)


@require_GET
def report_traces(request: HttpRequest, slug: str, version: int) -> HttpResponse:
    """List the traces behind a number, verdict beside standard; not for who still has to judge them.

    `against` another standard: those whose label differs between the two, with both labels.
    """
    study = study_of_traces(person_of(request), slug)
    standard = _standard(study, version)
    asked, selection = Asked.read(request.GET), _selection(request.GET, blind=False)
    against = request.GET.get("against", "")
    former = _standard(study, int(against)) if against.isdecimal() and len(against) < 10 else None
    found: Any
    counted: dict[str, int] = {}
    if former is not None:
        found = changes_behind(study, (former, standard), asked, selection)
    elif asked.of_verdicts:
        found = verdicts_behind(study, standard, asked, selection)
        counted = tally(found)
    else:
        found = labels_behind(standard, asked, selection)
    page = Paginator(found, ON_A_PAGE).get_page(request.GET.get("page"))
    return render(
        request,
        "monitoring/report_traces.html",
        {
            "study": study,
            "standard": standard,
            "former": former,
            "asked": asked,
            "selection": selection,
            "page": page,
            "tally": counted,
            "query": urlencode(
                [*asked.parts, *selection.parts.items(), *([("against", former.version)] if former else [])]
            ),
            "back": _with_query(reverse("report", args=[slug, version]), selection),
        },
    )


def _traces_of_both(before: ReferenceStandard, after: ReferenceStandard) -> tuple[str, str, str]:
    """Return the addresses of the traces of two standards, and of those whose label changed between them."""
    first, second = (traces_address(standard) for standard in (before, after))
    return first, second, f"{second}against={before.version}&"


@require_GET
def standard_figures(request: HttpRequest, slug: str, version: int, other: int) -> HttpResponse:
    """Show the figures of two standards in two columns, where both reports are computed."""
    person = person_of(request)
    study = study_of_report(person, slug)
    standards = [_standard(study, number) for number in (version, other)]
    stored = [queries.standing_of(study, standard, Options()).ready for standard in standards]
    context: dict[str, Any] = {
        "study": study,
        "standards": standards,
        "missing": [s for s, report in zip(standards, stored, strict=True) if report is None],
        "changed": compare.changed_labels(*standards),
    }
    before, after = stored
    if before is not None and after is not None:
        documents = [document_for(person, study, report) for report in (before, after)]
        figures = compare.figures_beside(*documents)
        context["all"] = request.GET.get("figures") == "all"
        context["figures"], context["moving"] = len(figures), sum(one.moves for one in figures)
        blind = is_blind(person, study)
        traces = None if blind else _traces_of_both(*standards)
        context["traces"] = None if blind else ""
        context["changed_traces"] = "" if traces is None else traces[2] + ALL
        context["tables"] = compare.comparison_tables(
            *documents, moving_only=not context["all"], traces=traces
        )
        context["same_verdicts"] = len({d["verdicts"]["sha256"] for d in documents}) == 1
    return render(request, "monitoring/standard_figures.html", context)
