"""Views that belong to no study."""

from __future__ import annotations

import sys

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent, TooManyFilesSent
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect, render, resolve_url
from django.template.loader import get_template
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_POST, require_safe

from core import guides, sudo
from core.access import person_of
from core.errors import UserError
from core.models import ApiToken, Scope
from core.tokens import DEFAULT_DAYS, LONGEST_DAYS, NAME_LENGTH, issue_token, revoke_token, tokens_of

THEMES = ("system", "light", "dark")
ONE_YEAR = 365 * 24 * 3600


@login_not_required
@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Keep the chosen theme in a cookie and return to the page it was chosen on."""
    target = request.POST.get("next", "")
    if not url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure()):
        target = resolve_url(settings.LOGIN_REDIRECT_URL)
    response = HttpResponseRedirect(target)
    choice = request.POST.get("theme")
    if choice in THEMES:
        response.set_cookie(
            "theme", choice, max_age=ONE_YEAR, samesite="Lax", secure=request.is_secure(), httponly=False
        )
    return response


@require_safe
def guide(request: HttpRequest, reader: str = "annotator") -> HttpResponse:
    """Show the guide for annotators, leads or administrators."""
    if reader not in guides.READERS:
        raise Http404
    return render(request, "core/guide.html", {"guide": guides.guide(reader), "guides": guides.addresses()})


@require_safe
@cache_control(private=True, no_store=True)
def tokens(request: HttpRequest) -> HttpResponse:
    """List the person's own tokens, with a form for another."""
    return _tokens(request)


@require_POST
@cache_control(private=True, no_store=True)
def token_new(request: HttpRequest) -> HttpResponse:
    """Make a token for the person and show its key, this once."""
    person = person_of(request)
    sudo.require(request, back=reverse("tokens"))
    try:
        days = int(request.POST.get("days", ""))
    except ValueError:
        return _tokens(request, error="The days are a whole number.", status=422)
    try:
        issued = issue_token(
            person=person,
            scopes=request.POST.getlist("scopes"),
            days=days,
            name=request.POST.get("name", "").strip(),
            actor=person,
        )
    except UserError as error:
        return _tokens(request, error=f"No token was made: {error}.", status=422)
    return _tokens(request, key=issued.key)


def _tokens(request: HttpRequest, *, key: str = "", error: str = "", status: int = 200) -> HttpResponse:
    rows: list[ApiToken] = list(tokens_of(person_of(request)))
    now = timezone.now()
    context = {
        "rows": [(token, token.is_live(now)) for token in rows],
        "key": key,
        "error": error,
        "scopes": Scope.choices,
        "days": DEFAULT_DAYS,
        "longest_days": LONGEST_DAYS,
        "longest_name": NAME_LENGTH,
        "confirmed": sudo.is_confirmed(request),
        "minutes": settings.SUDO_MINUTES,
    }
    return render(request, "core/tokens.html", context, status=status)


@require_POST
def token_revoke(request: HttpRequest, prefix: str) -> HttpResponse:
    """Close one of the person's own tokens for good."""
    person = person_of(request)
    token = get_object_or_404(tokens_of(person), prefix=prefix)
    revoke_token(token=token, actor=person)
    messages.success(request, f"Token {token.prefix} is revoked: programs that use it are shut out now.")
    return redirect("tokens")


def unfit(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer what cannot be read: too large says so (413), anything else is a bad request (400)."""
    too_large = isinstance(exception, RequestDataTooBig | TooManyFieldsSent | TooManyFilesSent)
    context = {"too_large": too_large, "kilobytes": (settings.DATA_UPLOAD_MAX_MEMORY_SIZE or 0) // 1024}
    return render(request, "400.html", context, status=413 if too_large else 400)


def failed(request: HttpRequest) -> HttpResponse:
    """Answer a failure of ours: 503 while the database cannot be reached, where trying again helps, else 500."""
    away = isinstance(sys.exc_info()[1], OperationalError | InterfaceError)
    # Without the request: who is signed in cannot be looked up either.
    page = get_template("500.html").render({"away": away})
    response = HttpResponse(page, status=503 if away else 500)
    if away:
        response["Retry-After"] = "5"
    return response
