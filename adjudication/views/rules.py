"""The page of a study's rules of adjudication, and of the gaps that leads stated."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from adjudication import access, queries
from adjudication.forms import GapForm, RulesForm
from adjudication.services.rules import InvalidRules, NewRules, set_rules, state_gap
from annotation.access import roles_in
from annotation.models import Role, Study
from core.access import person_of
from core.errors import UserError


@require_http_methods(["GET", "HEAD", "POST"])
def rules(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the rules and the stated gaps; set the rules."""
    person = person_of(request)
    study = access.study_of_standards(person, slug)
    if request.method != "POST":
        return _show(request, study)
    form = RulesForm(request.POST)
    if not form.is_valid():
        return _show(request, study, form=form, status=422)
    try:
        set_rules(study=study, new=NewRules(**form.cleaned_data), actor=person)
    except InvalidRules as error:
        form.add_error(error.field, str(error))
        return _show(request, study, form=form, status=422)
    messages.success(request, "The rules are set; open disputes follow them.")
    return redirect("adjudication_rules", slug)


@require_POST
def state_study_gap(request: HttpRequest, slug: str) -> HttpResponse:
    """State that the labels still expected in the whole study will not come."""
    person = person_of(request)
    study = access.study_of_lead(person, slug)
    form = GapForm(request.POST)
    if not form.is_valid():
        return _show(request, study, gap=form, status=422)
    try:
        state_gap(study=study, actor=person, **form.cleaned_data)
    except UserError as error:
        form.add_error("reason", str(error))
        return _show(request, study, gap=form, status=409)
    messages.success(request, "The gap is stated; what waited for labels can be decided.")
    return redirect("adjudication_rules", slug)


def _show(
    request: HttpRequest,
    study: Study,
    *,
    form: RulesForm | None = None,
    gap: GapForm | None = None,
    status: int = 200,
) -> HttpResponse:
    standing = queries.rules_of(study)
    person = person_of(request)
    letters = queries.letters_for(
        [one.trace_id for one in queries.stated_gaps(study) if one.trace_id], study=study, person=person
    )
    return render(
        request,
        "adjudication/rules.html",
        {
            "study": study,
            "form": form
            or RulesForm(initial={name: getattr(standing, name) for name in RulesForm.base_fields}),
            "gap": gap or GapForm(),
            "gaps": [(one, letters.get(one.trace_id or 0)) for one in queries.stated_gaps(study)],
            "counts": queries.dispute_counts(study),
            "may_state": Role.LEAD in roles_in(study, person),
        },
        status=status,
    )
