"""The two pages: what stands, and an order for more. GET shows, POST orders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from annotation.models import Study
from core import sudo
from core.access import person_of
from core.errors import UserError
from monitoring import words
from monitoring.access import study_of_administrator
from monitoring.asked import orders, standing
from monitoring.engine import heartbeat
from monitoring.forms import budget_field


class _Order(forms.Form):
    max_cost = budget_field(required=True, label="Budget, USD")

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.known = [(one.slug, f"{one.slug} ({one.model})") for one in standing.speakers(study)]
        for field in self.fields.values():
            if isinstance(field, forms.ChoiceField):
                field.choices = self.known


class DebateForm(_Order):
    """Who speaks, for how much at most."""

    first = forms.ChoiceField(label="First speaker: opens (R1), answers disputes (R3)")
    second = forms.ChoiceField(label="Second speaker: attacks (R2), reads blind")
    judge = forms.ChoiceField(label="Judge: writes the consensus")
    field_order = ["first", "second", "judge", "max_cost"]


class GenerationForm(_Order):
    """Who writes, for how much at most."""

    monitors = forms.MultipleChoiceField(
        label="Models",
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one model."},
    )
    field_order = ["monitors", "max_cost"]


@require_http_methods(["GET", "HEAD", "POST"])
def debate(request: HttpRequest, slug: str) -> HttpResponse:
    """Show how far the debate is; order it, or its rest."""

    def order(study: Study, chosen: dict[str, Any]) -> None:
        names = {role: chosen[role] for role in ("first", "second", "judge")}
        orders.order_debate(study=study, names=names, max_cost=chosen["max_cost"], actor=person_of(request))

    said = "The debate is ordered; a worker takes it up."
    return _ordered(request, slug, "debate", DebateForm, order, said)


@require_http_methods(["GET", "HEAD", "POST"])
def generation(request: HttpRequest, slug: str) -> HttpResponse:
    """Show how many solutions there are; order those that are lacking."""

    def order(study: Study, chosen: dict[str, Any]) -> None:
        orders.order_generation(
            study=study, names=chosen["monitors"], max_cost=chosen["max_cost"], actor=person_of(request)
        )

    said = "The traces are ordered; a worker takes it up."
    return _ordered(request, slug, "generation", GenerationForm, order, said)


def _ordered(
    request: HttpRequest,
    slug: str,
    kind: str,
    form_of: type[_Order],
    order: Callable[[Study, dict[str, Any]], None],
    said: str,
) -> HttpResponse:
    study = study_of_administrator(person_of(request), slug)
    if request.method != "POST":
        return _page(request, study, kind, form_of(study=study))
    form = form_of(request.POST, study=study)
    if form.is_valid():
        sudo.require(request, back=request.path)
        try:
            order(study, form.cleaned_data)
        except UserError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, said)
            return redirect(f"{kind}_order", slug)
    return _page(request, study, kind, form, status=422)


def _page(request: HttpRequest, study: Study, kind: str, form: _Order, *, status: int = 200) -> HttpResponse:
    found = (standing.debate_standing if kind == "debate" else standing.generation_standing)(study)
    context = {
        "study": study,
        "kind": kind,
        "form": form,
        "standing": found,
        "spent": words.usd(found.cost),
        "rest": "" if found.rest is None else words.usd(found.rest),
        "models": [{"row": one, "cost": words.usd(one.cost)} for one in found.models],
        "workers": heartbeat.living(),
    }
    # What moves is fetched alone; the form keeps what was chosen.
    name = "monitoring/_asked.html" if getattr(request, "htmx", False) else "monitoring/asked.html"
    return render(request, name, context, status=status)
