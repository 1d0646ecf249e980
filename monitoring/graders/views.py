"""The page of a study's own grading error."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from adjudication.queries import dispute_counts
from annotation.access import roles_in, study_for
from annotation.models import Role, Study
from core.access import person_of
from core.errors import UserError
from monitoring.graders.build import grading_error
from monitoring.report.access import is_blind
from monitoring.report.links import ALL, link, traces_address
from monitoring.report.queries import standard_for

FORMULA = r"$$n_{\text{eff}} = \frac{n}{1 + (k - 1)\,\rho}$$"


@require_safe
def latest(request: HttpRequest, slug: str) -> HttpResponse:
    """Lead to the newest standard."""
    study = _study(request, slug)
    newest = study.standards.order_by("-version").first()
    if newest is None:
        return render(request, "monitoring/graders.html", {"study": study})
    return redirect("study_graders", slug, newest.version)


@require_safe
@cache_control(private=True, no_store=True)
def graders(request: HttpRequest, slug: str, version: int) -> HttpResponse:
    """Show alpha and beta of every monitor against one standard, and what clustering leaves of the data."""
    study = _study(request, slug)
    try:
        standard = standard_for(study, version)
    except UserError as error:
        raise Http404(str(error)) from error
    found = grading_error(study, standard)
    # Who still has a dispute to decide may see rates here, but not the traces behind them.
    traces = "" if is_blind(person_of(request), study) else traces_address(standard)
    rows: list[dict[str, Any]] = [
        {"condition": condition, "monitor": monitor, "led": _led(traces, condition, monitor), **row}
        for condition, monitors in found["conditions"].items()
        for monitor, row in monitors.items()
    ]
    context = {
        "study": study,
        "standard": standard,
        "found": found,
        "rows": rows,
        "formula": FORMULA,
        "every": traces and traces + ALL,
    }
    return render(request, "monitoring/graders.html", context)


def _led(traces: str, condition: str, monitor: str) -> dict[str, str]:
    """Return by cell the address of the verdicts that a rate of a monitor is over; `all` for those of every cell."""
    if not traces:
        return {}
    asked = {"condition": condition, "monitor": monitor, "said": "valid"}
    cells = ("wrong", "critical", "error", "clean")
    return {"all": traces + link(**asked), **{cell: traces + link(**asked, cell=cell) for cell in cells}}


def _study(request: HttpRequest, slug: str) -> Study:
    """Return the study to leads and administrators; to a lead only once no dispute is open."""
    person = person_of(request)
    study = study_for(person, slug, Role.LEAD, Role.ADMINISTRATOR)
    if Role.LEAD in roles_in(study, person) and dispute_counts(study)["open"]["all"]:
        raise PermissionDenied("what monitors said stays closed to a lead while disputes are open")
    return study
