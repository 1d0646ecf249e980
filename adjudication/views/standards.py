"""Pages of reference standards: the versions, freezing, the card of one, two side by side."""

from __future__ import annotations

from functools import lru_cache

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from adjudication import access, queries, sources
from adjudication.forms import FreezeForm
from adjudication.models import ReferenceStandard, StandardLabel
from adjudication.pages import changes_between
from adjudication.services.assembly import Precondition, freeze_preconditions
from adjudication.services.standards import FreezeRefused, freeze_standard
from annotation.access import roles_in
from annotation.models import Role, Study
from core.access import person_of

MANY = 5_000


@require_safe
def standards(request: HttpRequest, slug: str) -> HttpResponse:
    """List the versions, and what a freeze would find now."""
    study = access.study_of_standards(person_of(request), slug)
    return _versions(request, study)


@require_POST
def freeze(request: HttpRequest, slug: str) -> HttpResponse:
    """Freeze the next version."""
    person = person_of(request)
    study = access.study_of_lead(person, slug)
    form = FreezeForm(request.POST)
    if not form.is_valid():
        return _versions(request, study, form=form, status=422)
    try:
        frozen = freeze_standard(study=study, actor=person, **form.cleaned_data)
    except FreezeRefused:
        return _versions(request, study, form=form, refused=True, status=409)
    if frozen.created:
        messages.success(request, f"Standard {frozen.standard.version} is frozen.")
    else:
        messages.info(request, f"Nothing changed since version {frozen.standard.version}: no new standard.")
    return redirect("standard", slug, frozen.standard.version)


@require_safe
def standard(request: HttpRequest, slug: str, version: int) -> HttpResponse:
    """Show the card of one version."""
    found = access.standard_for(person_of(request), slug, version)
    card = queries.card_of(found)
    rulings, opened = queries.opened_before(found)
    return render(
        request,
        "adjudication/standard.html",
        {
            "study": found.study,
            "standard": found,
            "card": card,
            "unresolved": sum(
                number for status, _, number in card.not_ready if status == StandardLabel.Status.UNRESOLVED
            ),
            "agreement": _agreement(found.pk, found.sha256),
            "rulings": rulings,
            "opened": opened,
            "consulted": queries.consulted_for(found),
            "blindness": sources.measured_blindness(found.study),
            "roles": queries.role_counts(found),
            "others": queries.standards_of(found.study).exclude(pk=found.pk),
        },
    )


@require_safe
def difference(request: HttpRequest, slug: str, version: int, other: int) -> HttpResponse:
    """Show what version `other` says differently from `version`."""
    person = person_of(request)
    old = access.standard_for(person, slug, version)
    new = access.standard_for(person, slug, other)
    return render(
        request,
        "adjudication/difference.html",
        {"study": old.study, "old": old, "new": new, "changed": changes_between(old, new, person=person)},
    )


@lru_cache(maxsize=64)
def _agreement(pk: int, sha256: str) -> queries.Agreement:
    """Keep the agreement of a frozen version, which never changes; the digest tells it from another's key."""
    return queries.agreement_of(ReferenceStandard.objects.get(pk=pk, sha256=sha256))


def _blocks(conditions: list[Precondition] | None) -> bool:
    return any(condition.blocks for condition in conditions or [])


def _versions(
    request: HttpRequest,
    study: Study,
    *,
    form: FreezeForm | None = None,
    refused: bool = False,
    status: int = 200,
) -> HttpResponse:
    fragment = bool(getattr(request, "htmx", False))
    # What a freeze would find is read from every trace: where there are many, the page comes first.
    at_once = fragment or status != 200 or "conditions" in request.GET or not queries.is_large(study, MANY)
    conditions = freeze_preconditions(study) if at_once else None
    if fragment:
        return render(
            request,
            "adjudication/_conditions.html",
            {"study": study, "conditions": conditions, "blocked": _blocks(conditions)},
        )
    return render(
        request,
        "adjudication/standards.html",
        {
            "study": study,
            "standards": queries.standards_of(study),
            "conditions": conditions,
            "blocked": _blocks(conditions),
            "refused": refused,
            "may_freeze": Role.LEAD in roles_in(study, person_of(request)),
            "form": form or FreezeForm(),
        },
        status=status,
    )
