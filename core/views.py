"""Views that belong to no study."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import resolve_url
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

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
