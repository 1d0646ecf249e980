"""Coding the roles of critical errors, after the freeze."""

from __future__ import annotations

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from adjudication import access, queries
from adjudication.forms import RoleForm
from adjudication.models import CriticalRole
from adjudication.pages import role_page_of
from adjudication.services.roles import code_role, take_back_role
from annotation.access import roles_in
from annotation.models import Role
from core.access import person_of
from core.errors import Conflict, UserError

PER_PAGE = 50


@require_safe
def roles(request: HttpRequest, slug: str, version: int) -> HttpResponse:
    """List the critical traces of a standard with their coded roles."""
    person = person_of(request)
    standard = access.standard_for(person, slug, version)
    asked = request.GET.get("kind", "")
    kind = asked if asked in (*CriticalRole.Kind.values, "uncoded") else None
    critical = queries.critical_traces(standard)
    counts = critical.counts
    page = Paginator(critical.of_kind(kind), PER_PAGE).get_page(request.GET.get("page"))
    found = queries.critical_labels_by_key(list(page.object_list))
    coded = queries.roles_of([label.trace_id for label in found])
    letters = queries.letters_for([label.trace_id for label in found], study=standard.study, person=person)
    return render(
        request,
        "adjudication/roles.html",
        {
            "study": standard.study,
            "standard": standard,
            "kind": kind,
            "counts": counts,
            "total": sum(number for _, _, number in counts),
            "page": page,
            "rows": [(label, letters[label.trace_id], coded.get(label.trace_id)) for label in found],
        },
    )


@require_safe
def role(request: HttpRequest, slug: str, version: int, token: str) -> HttpResponse:
    """Show one critical trace with its first false step, and what may be coded."""
    return _show(request, slug, version, token)


@require_POST
def code(request: HttpRequest, slug: str, version: int, token: str) -> HttpResponse:
    """Code the role and go on to the next uncoded trace."""
    person = person_of(request)
    access.study_of_lead(person, slug)
    standard, label = access.critical_label_for(person, slug, version, token)
    form = RoleForm(request.POST)
    if not form.is_valid():
        return _show(request, slug, version, token, form=form, status=422)
    try:
        code_role(standard=standard, trace=label.trace, lead=person, **form.cleaned_data)
    except Conflict as error:
        return _show(request, slug, version, token, conflict=str(error), status=409)
    following = queries.next_uncoded(standard, after=token)
    if following is None:
        messages.success(request, "Every critical solution is coded.")
        return redirect("critical_roles", slug, version)
    return redirect("critical_role", slug, version, following)


@require_POST
def take_back(request: HttpRequest, slug: str, version: int, token: str) -> HttpResponse:
    """Take a coding back."""
    person = person_of(request)
    access.study_of_lead(person, slug)
    standard, label = access.critical_label_for(person, slug, version, token)
    revision = request.POST.get("expected_revision", "")
    try:
        take_back_role(
            standard=standard,
            trace=label.trace,
            lead=person,
            expected_revision=int(revision) if revision.isascii() and revision.isdigit() else -1,
        )
    except UserError as error:
        return _show(request, slug, version, token, conflict=str(error), status=409)
    messages.success(request, "Taken back: this solution is uncoded.")
    return redirect("critical_role", slug, version, token)


def _show(
    request: HttpRequest,
    slug: str,
    version: int,
    token: str,
    *,
    form: RoleForm | None = None,
    conflict: str = "",
    status: int = 200,
) -> HttpResponse:
    person = person_of(request)
    standard, label = access.critical_label_for(person, slug, version, token)
    context = {
        "study": standard.study,
        "standard": standard,
        "page": role_page_of(label, person=person),
        "kinds": CriticalRole.Kind.choices,
        "form": form or RoleForm(),
        "conflict": conflict,
        "may_code": Role.LEAD in roles_in(standard.study, person),
    }
    return render(request, "adjudication/role.html", context, status=status)
