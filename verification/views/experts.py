"""The experts' queue and its items."""

from __future__ import annotations

from django.contrib import messages
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
from verification.services.experts import put_back, rule_on_item, send_undecided, take_item

SETTLED_SHOWN = 50


@require_safe
@cache_control(private=True, no_store=True)
def experts(request: HttpRequest, slug: str) -> HttpResponse:
    """List what waits for an expert, what is taken or left open, and what was settled."""
    study = access.study_of_expert(person_of(request), slug)
    return render(
        request,
        "verification/experts.html",
        {
            "study": study,
            "items": queries.items_in(study),
            "settled": queries.settled_in(study)[:SETTLED_SHOWN],
        },
    )


@require_POST
def gather(request: HttpRequest, slug: str) -> HttpResponse:
    """Send what the checks left undecided to the queue."""
    person = person_of(request)
    study = access.study_of_expert(person, slug)
    number = send_undecided(study=study, actor=person)
    messages.success(request, f"{number} sent to the queue.")
    return redirect("experts", slug)


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
        "rulings": found.rulings.select_related("expert").order_by("revision"),
        "form": form or RulingForm(),
        "conflict": conflict,
    }
    return render(request, "verification/expert_item.html", context, status=status)
