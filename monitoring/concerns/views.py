"""The page from which concerns are asked for."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from annotation.models import Study
from core.access import person_of
from core.errors import UserError
from monitoring import words
from monitoring.access import study_of_administrator
from monitoring.concerns import queries
from monitoring.concerns.forms import ConcernsForm
from monitoring.concerns.ordering import order_concerns
from monitoring.concerns.raising import traces_to_read


@require_safe
def concerns(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what models were asked, and the form that asks."""
    study = study_of_administrator(person_of(request), slug)
    return _page(request, study, ConcernsForm(study=study))


@require_POST
def ask(request: HttpRequest, slug: str) -> HttpResponse:
    """Order concerns from a worker."""
    person = person_of(request)
    study = study_of_administrator(person, slug)
    form = ConcernsForm(request.POST, study=study)
    if not form.is_valid():
        return _page(request, study, form, status=422)
    data = form.cleaned_data
    try:
        number = order_concerns(
            study=study, names=data["monitors"], keys=None, max_cost=data["max_cost"], actor=person
        )
    except UserError as error:
        form.add_error(None, str(error))
        return _page(request, study, form, status=422)
    messages.success(request, f"A worker asks about {number} solution{'' if number == 1 else 's'}.")
    return redirect("concerns", slug)


def _page(request: HttpRequest, study: Study, form: ConcernsForm, *, status: int = 200) -> HttpResponse:
    flags, flagged = queries.flag_counts(study)
    asked = queries.asked_in(study)
    context = {
        "study": study,
        "form": form,
        "n_traces": len(traces_to_read(study)),
        "n_flags": flags,
        "n_flagged": flagged,
        "asked": [(row, words.usd(row.cost)) for row in asked],
    }
    return render(request, "monitoring/concerns.html", context, status=status)
