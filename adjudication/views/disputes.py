"""The lead's pages: the list of disputes, one masked dispute, deciding it, taking that back."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_POST, require_safe

from adjudication import access, queries
from adjudication.forms import GapForm, GuessForm, RulingForm, UndoForm
from adjudication.models import Dispute
from adjudication.pages import page_of
from adjudication.services.blindness import (
    ArgumentsClosed,
    InvalidGuess,
    NotDecided,
    open_arguments,
    reveal_sources,
)
from adjudication.services.decisions import decide, undo_decision
from adjudication.services.disputes import recompute_disputes
from adjudication.services.rules import state_gap
from adjudication.services.rulings import InvalidDecision
from core.access import person_of
from core.errors import Conflict, UserError

PER_PAGE = 50


@require_safe
@cache_control(private=True, no_store=True)
def disputes(request: HttpRequest, slug: str) -> HttpResponse:
    """List disputes by state, kind and words, in an order that tells no source."""
    study = access.study_of_lead(person_of(request), slug)
    asked = {name: request.GET.get(name, "") for name in ("state", "kind", "order")}
    state = asked["state"] if asked["state"] in queries.IN_STATE else "open"
    kind = asked["kind"] if asked["kind"] in queries.KINDS else None
    order = asked["order"] if asked["order"] in queries.ORDERS else "shuffled"
    words = request.GET.get("words", "").strip()[:100]
    counts = queries.dispute_counts(study)
    keys = queries.disputes_in(study, state=state, kind=kind, words=words, order=order)
    pages = Paginator(keys.values_list("pk", flat=True), PER_PAGE)
    if not words:
        # The counts are there already: the paginator need not ask the database again.
        pages.count = counts[state][kind or "all"]
    page = pages.get_page(request.GET.get("page"))
    found = queries.disputes_by_key(list(page.object_list))
    rulings = queries.rulings_on(found) if state == "decided" else {}
    kept = {name: value for name, value in (("kind", kind), ("order", order), ("words", words)) if value}
    return render(
        request,
        "adjudication/disputes.html",
        {
            "study": study,
            "state": state,
            "kind": kind,
            "order": order,
            "orders": queries.ORDERS,
            "words": words,
            "kinds": [("", "all kinds", counts[state]["all"])]
            + [(name, name, counts[state][name]) for name in queries.KINDS],
            "states": [(name, counts[name]["all"]) for name in queries.IN_STATE],
            "kept": urlencode(kept),
            "kept_but_kind": urlencode({name: value for name, value in kept.items() if name != "kind"}),
            "page": page,
            "rows": [(dispute, rulings.get(dispute.pk)) for dispute in found],
        },
    )


@require_POST
def recompute(request: HttpRequest, slug: str) -> HttpResponse:
    """Bring the disputes up to date with the labels."""
    person = person_of(request)
    study = access.study_of_lead(person, slug)
    found = recompute_disputes(study=study, actor=person)
    messages.success(
        request,
        f"{found.opened} opened, {found.withdrawn} withdrawn; "
        f"{found.standing_open - found.waiting} wait for you, {found.waiting} for labels.",
    )
    return redirect("disputes", slug)


@require_safe
@cache_control(private=True, no_store=True)
def dispute(request: HttpRequest, slug: str, token: str) -> HttpResponse:
    """Show one dispute, masked."""
    found = access.dispute_for(person_of(request), slug, token)
    return _show(request, found)


@require_POST
def decide_dispute(request: HttpRequest, slug: str, token: str) -> HttpResponse:
    """Record a ruling and go on to the next open dispute."""
    person = person_of(request)
    found = access.dispute_for(person, slug, token)
    form = RulingForm(request.POST)
    if not form.is_valid():
        return _show(request, found, form=form, status=422)
    try:
        decide(dispute=found, lead=person, **form.decision())
    except InvalidDecision as error:
        form.refuse(error)
        return _show(request, found, form=form, status=422)
    except Conflict as error:
        return _conflict(request, slug, token, str(error))
    following = queries.next_open(found.study, after=token)
    messages.success(request, "Decided. You can take it back until a standard is frozen.")
    if following is None:
        return redirect("disputes", slug)
    return redirect("dispute", slug, following.token)


@require_POST
def state_dispute_gap(request: HttpRequest, slug: str, token: str) -> HttpResponse:
    """State that the labels still expected on this dispute's trace will not come."""
    person = person_of(request)
    found = access.dispute_for(person, slug, token)
    form = GapForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Not stated: say why the labels will not come.")
        return redirect("dispute", slug, token)
    try:
        state_gap(study=found.study, trace=found.trace, actor=person, **form.cleaned_data)
    except UserError as error:
        messages.error(request, f"Not stated: {error}.")
    return redirect("dispute", slug, token)


@require_POST
def open_dispute_arguments(request: HttpRequest, slug: str, token: str) -> HttpResponse:
    """Open the rewritten arguments, where the study allows it."""
    person = person_of(request)
    found = access.dispute_for(person, slug, token)
    try:
        open_arguments(dispute=found, lead=person)
    except ArgumentsClosed as error:
        messages.error(request, f"Not opened: {error}.")
    return redirect(reverse("dispute", args=[slug, token]) + "#arguments")


@require_POST
def reveal(request: HttpRequest, slug: str, token: str) -> HttpResponse:
    """Take a guess, then show who proposed what."""
    person = person_of(request)
    found = access.dispute_for(person, slug, token)
    form = GuessForm(request.POST)
    try:
        guess = form.cleaned_data["guess"] if form.is_valid() else "?"
        reveal_sources(dispute=found, lead=person, guess=guess)
    except NotDecided as error:
        return _conflict(request, slug, token, str(error))
    except InvalidGuess as error:
        messages.error(request, f"Not shown: {error}.")
    return redirect(reverse("dispute", args=[slug, token]) + "#sources")


@require_POST
def undo(request: HttpRequest, slug: str, token: str) -> HttpResponse:
    """Take a ruling back."""
    person = person_of(request)
    found = access.dispute_for(person, slug, token)
    form = UndoForm(request.POST)
    if not form.is_valid():
        return _show(request, found, status=422)
    try:
        undo_decision(dispute=found, lead=person, **form.cleaned_data)
    except Conflict as error:
        return _conflict(request, slug, token, str(error))
    messages.success(request, "Taken back: the dispute is open again.")
    return redirect("dispute", slug, token)


def _show(
    request: HttpRequest,
    found: Dispute,
    *,
    form: RulingForm | None = None,
    conflict: str = "",
    status: int = 200,
) -> HttpResponse:
    page = page_of(found, person=person_of(request))
    if form is None:
        form = RulingForm(initial={"expected_revision": page.revision, "seen": page.fingerprint})
    context: dict[str, Any] = {"study": found.study, "page": page, "form": form, "conflict": conflict}
    return render(request, "adjudication/dispute.html", context, status=status)


def _conflict(request: HttpRequest, slug: str, token: str, message: str) -> HttpResponse:
    """Show the dispute as it stands now, the words that were not saved in the form."""
    fresh = access.dispute_for(person_of(request), slug, token)
    page = page_of(fresh, person=person_of(request))
    words = {name: value for name, value in request.POST.items() if name != "ruling"}
    now = {"expected_revision": page.revision, "seen": page.fingerprint}
    return _show(request, fresh, form=RulingForm(initial={**words, **now}), conflict=message, status=409)
