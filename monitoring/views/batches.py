"""Batches: the list, the planning matrix, the same matrix filling up, and what is done to a batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from annotation.models import Study
from core import sudo
from core.access import person_of
from core.errors import Conflict, UserError
from core.models import User
from monitoring import queries, words
from monitoring.access import batch_for, study_of_administrator
from monitoring.engine import control, heartbeat, planning
from monitoring.engine.launch import launch_batch, refuse_if_unfit
from monitoring.forms import BatchForm, BudgetForm
from monitoring.matrix import plan_matrix, progress_matrix
from monitoring.models import Batch


@require_safe
def batches(request: HttpRequest, slug: str) -> HttpResponse:
    """List the batches, the newest first."""
    study = study_of_administrator(person_of(request), slug)
    return render(request, "monitoring/batches.html", {"study": study, "batches": queries.batches_of(study)})


def new(request: HttpRequest, slug: str) -> HttpResponse:
    """GET: choose, and see the plan of what was chosen, of which nothing is written. POST: launch it."""
    return _launch(request, slug) if request.method == "POST" else _plan(request, slug)


@require_safe
def _plan(request: HttpRequest, slug: str) -> HttpResponse:
    study = study_of_administrator(person_of(request), slug)
    chosen = "monitors" in request.GET or "conditions" in request.GET
    if not chosen:
        return _choice(request, study, BatchForm(study=study))
    form = BatchForm(request.GET, study=study)
    return _choice(request, study, form, status=200 if form.is_valid() else 422)


@require_POST
def _launch(request: HttpRequest, slug: str) -> HttpResponse:
    person = person_of(request)
    study = study_of_administrator(person, slug)
    form = BatchForm(request.POST, study=study)
    if not form.is_valid():
        return _choice(request, study, form, status=422)
    chosen = _chosen(study, form)
    if queries.costs_money(chosen["monitors"]):
        # Back to the plan of what was chosen: it needs only be launched again.
        asked = request.POST.copy()
        asked.pop("csrfmiddlewaretoken", None)
        sudo.require(request, back=f"{reverse('batch_new', args=[slug])}?{asked.urlencode()}")
    try:
        batch = launch_batch(study=study, max_cost=form.cleaned_data["max_cost"], actor=person, **chosen)
    except UserError as error:
        form.add_error(None, str(error))
        return _choice(request, study, form, status=422)
    messages.success(request, f"Batch {batch.number} is launched.")
    return redirect("batch", slug, batch.number)


@require_safe
def batch(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Show a batch as it stands."""
    found = batch_for(person_of(request), slug, number)
    return _batch_page(request, found)


@require_safe
def progress(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Return the part of the batch page that moves; the whole page anew once the batch is in another state."""
    found = batch_for(person_of(request), slug, number)
    response = render(request, "monitoring/_progress.html", _standing(found))
    if request.GET.get("status", found.status) != found.status:
        response["HX-Refresh"] = "true"
    return response


@require_POST
def pause(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Take no more calls of a batch."""
    return _act(request, slug, number, control.pause_batch)


@require_POST
def cancel(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """End a batch for good."""
    return _act(request, slug, number, control.cancel_batch)


@require_POST
def retry(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Call again where a batch has no verdict but a failure."""
    _confirmed(request, batch_for(person_of(request), slug, number))
    return _act(request, slug, number, control.retry_failed)


@require_POST
def resume(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Go on with a paused batch, with another budget if one is entered."""
    person = person_of(request)
    found = batch_for(person, slug, number)
    _confirmed(request, found)
    form = BudgetForm(request.POST)
    if not form.is_valid():
        return _batch_page(request, found, budget=form, status=422)
    try:
        control.resume_batch(batch=found, actor=person, max_cost=form.cleaned_data["max_cost"])
    except UserError as error:
        form.add_error(None, str(error))
        return _batch_page(request, found, budget=form, status=409 if isinstance(error, Conflict) else 422)
    return redirect("batch", slug, number)


def _act(request: HttpRequest, slug: str, number: int, action: Callable[..., object]) -> HttpResponse:
    person: User = person_of(request)
    found = batch_for(person, slug, number)
    try:
        action(batch=found, actor=person)
    except UserError as error:
        messages.error(request, str(error))
        found.refresh_from_db()
        return _batch_page(request, found, status=409 if isinstance(error, Conflict) else 422)
    return redirect("batch", slug, number)


def _confirmed(request: HttpRequest, found: Batch) -> None:
    """Ask who it is before more is spent; a batch that costs nothing asks nothing."""
    if queries.batch_costs_money(found):
        sudo.require(request, back=reverse("batch", args=[found.study.slug, found.number]))


def _chosen(study: Study, form: BatchForm) -> dict[str, Any]:
    return {
        "standard": planning.standard_named(study, form.cleaned_data["standard"]),
        "monitors": planning.monitors_named(study, form.cleaned_data["monitors"]),
        "conditions": planning.conditions_named(form.cleaned_data["conditions"]),
        "options": form.options(),
    }


def _choice(request: HttpRequest, study: Study, form: BatchForm, *, status: int = 200) -> HttpResponse:
    matrix, obstacle, paid = None, None, False
    budget = form.cleaned_data.get("max_cost") if form.is_bound and form.is_valid() else None
    if form.is_bound and not form.errors:
        plan = planning.plan_batch(study=study, **_chosen(study, form))
        matrix = plan_matrix(plan)
        paid = queries.costs_money([run.monitor for run in plan.runs])
        try:
            refuse_if_unfit(plan, max_cost=form.cleaned_data["max_cost"])
        except UserError as error:
            obstacle = str(error)
    return render(
        request,
        "monitoring/batch_new.html",
        {
            "study": study,
            "form": form,
            "matrix": matrix,
            "obstacle": obstacle,
            "confirm_minutes": settings.SUDO_MINUTES if paid and not sudo.is_confirmed(request) else 0,
            "budget_words": "" if budget is None else words.usd(budget),
        },
        status=status,
    )


def _standing(found: Batch, *, budget: BudgetForm | None = None) -> dict[str, Any]:
    standing = queries.progress_of(found)
    seconds = standing.seconds_left
    return {
        "study": found.study,
        "batch": found,
        "progress": standing,
        "matrix": progress_matrix(standing),
        "budget": budget or BudgetForm(),
        "budget_words": None if found.max_cost is None else words.usd(found.max_cost),
        "reserved": words.usd(found.reserved) if found.reserved else "",
        "rate": words.rate(standing.per_second) if standing.per_second else "",
        "left": words.duration(seconds) if seconds else "",
        "workers": heartbeat.living(),
        "moving": found.status == Batch.Status.RUNNING or any(cell.in_flight for cell in standing.cells),
    }


def _batch_page(
    request: HttpRequest, found: Batch, *, budget: BudgetForm | None = None, status: int = 200
) -> HttpResponse:
    return render(request, "monitoring/batch.html", _standing(found, budget=budget), status=status)
