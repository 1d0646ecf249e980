"""The experts' queue and its items."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_POST, require_safe

from core.access import person_of
from core.errors import Conflict, UserError
from verification import access, queries
from verification.forms import RulingForm
from verification.models import ExpertItem
from verification.pages import trace_page
from verification.services.experts import put_back, rule_on_item, take_item, take_needed

SETTLED_SHOWN = 50
PER_PAGE = 50


@require_safe
@cache_control(private=True, no_store=True)
def experts(request: HttpRequest, slug: str) -> HttpResponse:
    """List what waits for an expert, what is taken or left open, and what was settled."""
    study = access.study_of_expert(person_of(request), slug)
    page = Paginator(queries.needing_experts(study), PER_PAGE).get_page(request.GET.get("page"))
    traces = queries.traces_by_id(study, [trace_id for trace_id, _ in page.object_list])
    return render(
        request,
        "verification/experts.html",
        {
            "study": study,
            "items": queries.items_in(study),
            "page": page,
            "needed": [(traces[trace_id], some) for trace_id, some in page.object_list],
            "settled": queries.settled_in(study)[:SETTLED_SHOWN],
        },
    )


@require_POST
def take_trace(request: HttpRequest, slug: str, token: str) -> HttpResponse:
    """Take a solution that calls for an expert."""
    person = person_of(request)
    trace = access.trace_of_expert(person, slug, token)
    try:
        item = take_needed(trace=trace, expert=person)
    except Conflict as error:
        messages.error(request, str(error))
        return redirect("experts", slug)
    return redirect("expert_item", slug, item.token)


@require_safe
@cache_control(private=True, no_store=True)
def item(request: HttpRequest, slug: str, token: str) -> HttpResponse:
    """Show one item with everything that is known of its trace."""
    return _show(request, access.item_for(person_of(request), slug, token))


@require_POST
def take(request: HttpRequest, slug: str, token: str) -> HttpResponse:
    """Take an item."""
    person = person_of(request)
    found = access.item_for(person, slug, token)
    try:
        take_item(item=found, expert=person)
    except Conflict as error:
        return _show(request, access.item_for(person, slug, token), conflict=str(error), status=409)
    return redirect("expert_item", slug, token)


@require_POST
def give_back(request: HttpRequest, slug: str, token: str) -> HttpResponse:
    """Put an item back."""
    person = person_of(request)
    found = access.item_for(person, slug, token)
    try:
        put_back(item=found, expert=person)
    except Conflict as error:
        return _show(request, access.item_for(person, slug, token), conflict=str(error), status=409)
    return redirect("experts", slug)


@require_POST
def rule(request: HttpRequest, slug: str, token: str) -> HttpResponse:
    """Record what the expert says."""
    person = person_of(request)
    found = access.item_for(person, slug, token)
    form = RulingForm(request.POST)
    if not form.is_valid():
        return _show(request, found, form=form, status=422)
    try:
        ruling = rule_on_item(item=found, expert=person, **form.cleaned_data)
    except Conflict as error:
        return _show(
            request, access.item_for(person, slug, token), form=form, conflict=str(error), status=409
        )
    except UserError as error:
        form.add_error(None, str(error))
        return _show(request, found, form=form, status=422)
    if ruling.outcome == "unresolved":
        messages.success(request, "Left open: the label of this solution stays unresolved.")
    else:
        messages.success(request, "Settled.")
    return redirect("experts", slug)


def _show(
    request: HttpRequest,
    found: ExpertItem,
    *,
    form: RulingForm | None = None,
    conflict: str = "",
    status: int = 200,
) -> HttpResponse:
    person = person_of(request)
    context = {
        "study": found.study,
        "item": found,
        "page": trace_page(found.trace),
        "mine": found.state == ExpertItem.State.TAKEN and found.taken_by_id == person.pk,
        "needs": [need for need in queries.needs_of(found.trace) if need.address],
        "rulings": found.rulings.select_related("expert").order_by("revision"),
        "form": form or RulingForm(),
        "conflict": conflict,
    }
    return render(request, "verification/expert_item.html", context, status=status)
