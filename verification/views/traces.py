"""The traces of a study with their checks, and the page of one."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_POST, require_safe

from annotation.access import roles_in
from annotation.models import Role, Trace
from core.access import person_of
from core.errors import UserError
from verification import access, queries
from verification.forms import MappingForm, ReasonForm
from verification.models import Status
from verification.pages import trace_page
from verification.services.checks import run_checks
from verification.services.experts import send_to_experts
from verification.services.specifications import map_obligation

PER_PAGE = 50


@require_safe
@cache_control(private=True, no_store=True)
def traces(request: HttpRequest, slug: str) -> HttpResponse:
    """List the traces with counts of their checks and flags."""
    study = access.study_of_readers(person_of(request), slug)
    page = Paginator(queries.traces_in(study), PER_PAGE).get_page(request.GET.get("page"))
    standing = {item.trace_id: item for item in queries.items_in(study)}
    rows = [(trace, standing.get(trace.pk)) for trace in page.object_list]
    return render(request, "verification/traces.html", {"study": study, "page": page, "rows": rows})


@require_safe
@cache_control(private=True, no_store=True)
def trace(request: HttpRequest, slug: str, token: str) -> HttpResponse:
    """Show the layers, the graph and the steps of one trace."""
    return _show(request, access.trace_of_readers(person_of(request), slug, token))


@require_POST
def check(request: HttpRequest, slug: str, token: str) -> HttpResponse:
    """Run the checks of layer 1 on one trace."""
    person = person_of(request)
    found = access.trace_of_readers(person, slug, token)
    run_checks(traces=[found], actor=person)
    messages.success(request, "The checks have run.")
    return redirect("verify_trace", slug, token)


@require_POST
def send(request: HttpRequest, slug: str, token: str) -> HttpResponse:
    """Put a trace into the experts' queue."""
    person = person_of(request)
    found = access.trace_of_expert(person, slug, token)
    form = ReasonForm(request.POST)
    if not form.is_valid():
        return _show(request, found, send_form=form, status=422)
    try:
        item = send_to_experts(trace=found, reason=form.cleaned_data["reason"], actor=person)
    except UserError as error:
        form.add_error("reason", str(error))
        return _show(request, found, send_form=form, status=409)
    messages.success(request, "It is in the experts' queue; its label is unresolved until that is settled.")
    return redirect("expert_item", slug, item.token)


@require_POST
def map_steps(request: HttpRequest, slug: str, token: str) -> HttpResponse:
    """Record which steps discharge an obligation."""
    person = person_of(request)
    found = access.trace_of_expert(person, slug, token)
    form = MappingForm(request.POST)
    if not form.is_valid():
        return _show(request, found, map_form=form, status=422)
    try:
        map_obligation(trace=found, author=person, **form.cleaned_data)
    except UserError as error:
        form.add_error(None, str(error))
        return _show(request, found, map_form=form, status=422)
    messages.success(request, "Recorded.")
    return redirect("verify_trace", slug, token)


def _show(
    request: HttpRequest,
    found: Trace,
    *,
    send_form: ReasonForm | None = None,
    map_form: MappingForm | None = None,
    status: int = 200,
) -> HttpResponse:
    context: dict[str, Any] = {
        "study": found.study,
        "page": trace_page(found),
        "is_expert": Role.LEAD in roles_in(found.study, person_of(request)),
        "send_form": send_form or ReasonForm(),
        "map_form": map_form or MappingForm(),
        "states": Status.choices,
    }
    return render(request, "verification/trace.html", context, status=status)
