"""The people of a study: who is in it, who is invited, and the page behind the link of an invitation."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation import queries
from annotation.access import study_for
from annotation.models import Role, Study
from annotation.services import invitations
from core import sudo
from core.access import person_of
from core.errors import UserError
from core.models import User


@require_safe
@never_cache
def people(request: HttpRequest, slug: str) -> HttpResponse:
    """Show who is in the study and who is invited, with a form for another invitation."""
    return _page(request, study_for(person_of(request), slug, Role.ADMINISTRATOR))


@require_POST
@never_cache
def invite(request: HttpRequest, slug: str) -> HttpResponse:
    """Make an invitation and show its link, this once."""
    person = person_of(request)
    study = study_for(person, slug, Role.ADMINISTRATOR)
    sudo.require(request, back=reverse("people", args=[slug]))
    days = request.POST.get("days", "")
    try:
        issued = invitations.invite(
            study=study,
            roles=request.POST.getlist("roles"),
            name=request.POST.get("name", ""),
            email=request.POST.get("email", ""),
            days=int(days) if days.isdecimal() and len(days) < 4 else 0,
            actor=person,
        )
    except invitations.Unfit as error:
        return _page(request, study, error=error, status=422)
    link = request.build_absolute_uri(reverse("invitation", args=[issued.key]))
    return _page(request, study, link=link, invited=issued.invitation.name)


@require_POST
def revoke(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Take an invitation back."""
    person = person_of(request)
    study = study_for(person, slug, Role.ADMINISTRATOR)
    found = invitations.invitations_of(study).filter(pk=number).select_related("study").first()
    if found is None:
        raise Http404("no such invitation")
    invitations.revoke(invitation=found, actor=person)
    messages.success(request, f"The invitation for {found.name} is closed.")
    return redirect("people", slug)


@login_not_required
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def invitation(request: HttpRequest, key: str) -> HttpResponse:
    """Let whoever holds the link in: a new person with a password, or somebody who is signed in."""
    found = invitations.open_invitation(key)
    if found is None:
        return render(request, "annotation/invitation.html", {"gone": True}, status=404)
    entered = {name: request.POST.get(name, "") for name in ("username", "display_name")}
    errors: dict[str, str] = {}
    if request.method == "POST":
        try:
            if isinstance(request.user, User):
                invitations.accept(invitation=found, person=request.user)
            else:
                _as_new(request, found, entered)
        except invitations.Unfit as error:
            errors[error.field] = str(error)
        except invitations.NotOpen:
            return render(request, "annotation/invitation.html", {"gone": True}, status=404)
        except UserError as error:
            errors[""] = str(error)
        else:
            messages.success(request, f"Welcome to {found.study.name}.")
            return redirect("study", found.study.slug)
    context = {"invitation": found, "here": request.path, "entered": entered, "errors": errors}
    context["error"] = errors.get("", "")
    return render(request, "annotation/invitation.html", context, status=422 if errors else 200)


def _as_new(request: HttpRequest, found: Any, entered: dict[str, str]) -> None:
    password = request.POST.get("password", "")
    if password != request.POST.get("again", ""):
        raise invitations.Unfit("again", "the two passwords differ")
    person = invitations.accept_as_new(invitation=found, password=password, **entered)
    login(request, person, backend=settings.AUTHENTICATION_BACKENDS[0])


def _page(
    request: HttpRequest,
    study: Study,
    *,
    link: str = "",
    invited: str = "",
    error: invitations.Unfit | None = None,
    status: int = 200,
) -> HttpResponse:
    now = timezone.now()
    context = {
        "study": study,
        "members": queries.members_of(study),
        "rows": [(one, one.is_open(now)) for one in invitations.invitations_of(study)[:200]],
        "link": link,
        "invited": invited,
        "error": error,
        "roles": Role.choices,
        "entered": request.POST if error else {},
        "chosen": request.POST.getlist("roles") if error else [Role.ANNOTATOR],
        "days": invitations.DEFAULT_DAYS,
        "longest_days": invitations.LONGEST_DAYS,
        "confirmed": sudo.is_confirmed(request),
        "minutes": settings.SUDO_MINUTES,
        "oidc_name": settings.OIDC_NAME,
    }
    return render(request, "annotation/people.html", context, status=status)
