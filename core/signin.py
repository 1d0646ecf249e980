"""Signing in, confirming who one is, and changing one's password."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login, views
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render, resolve_url
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from core import audit, sudo, throttle
from core.access import person_of

TOO_MANY = (
    "There were too many tries. Nothing is locked for good: wait at most {minutes} minute{s} and try again. A "
    "browser with which you signed in before is counted apart from everybody else's."
)


class SignInForm(AuthenticationForm):
    """Name and password; a try that is one too many is not looked at."""

    throttled = 0

    def clean(self) -> dict[str, Any]:
        """Check name and password, counted before it is known whether they are right."""
        assert self.request is not None
        name = self.cleaned_data.get("username") or ""
        if not name or not self.cleaned_data.get("password"):
            return self.cleaned_data
        begun = throttle.begin(self.request, name)
        if isinstance(begun, throttle.TooMany):
            self.throttled = begun.minutes
            raise forms.ValidationError(_too_many(begun), code="throttled")
        cleaned: dict[str, Any] = super().clean()
        throttle.succeeded(begun)
        return cleaned


class SignIn(views.LoginView):
    """The sign-in page."""

    template_name = "core/login.html"
    authentication_form = SignInForm
    http_method_names = ["get", "head", "post"]

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        return super().get_context_data(**kwargs) | {"oidc_name": settings.OIDC_NAME}

    def form_valid(self, form: Any) -> HttpResponse:
        response = super().form_valid(form)
        throttle.remember(response, form.get_user())
        return response

    def form_invalid(self, form: Any) -> HttpResponse:
        response = super().form_invalid(form)
        return _refused(response, form.throttled)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def confirm(request: HttpRequest) -> HttpResponse:
    """Ask for the password again, then lead back to what asked for it."""
    person = person_of(request)
    target = _safe(request, request.POST.get("next") or request.GET.get("next", ""))
    error, minutes = "", 0
    if request.method == "POST":
        begun = throttle.begin(request, person.username)
        if isinstance(begun, throttle.TooMany):
            error, minutes = _too_many(begun), begun.minutes
        elif not person.check_password(request.POST.get("password", "")):
            error = "That is not your password. Nothing was changed."
        else:
            throttle.succeeded(begun)
            request.session.cycle_key()
            sudo.confirm(request)
            return HttpResponseRedirect(target)
    response = render(
        request,
        "core/confirm.html",
        {
            "next": target,
            "error": error,
            "minutes": settings.SUDO_MINUTES,
            "has_password": person.has_usable_password(),
            "oidc_name": settings.OIDC_NAME,
        },
        status=422 if error else 200,
    )
    return _refused(response, minutes)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def password(request: HttpRequest) -> HttpResponse:
    """Change one's password; every other session of the person ends."""
    person = person_of(request)
    form = PasswordChangeForm(person, request.POST or None)
    minutes = 0
    if request.method == "POST":
        begun = throttle.begin(request, person.username)
        if isinstance(begun, throttle.TooMany):
            minutes = begun.minutes
            form = PasswordChangeForm(person)
        elif form.is_valid():
            throttle.succeeded(begun)
            with transaction.atomic():
                form.save()
                audit.record(
                    scope=audit.SITE, actor=person, action="password changed", subject=person.username
                )
            # A session of its own from here on: the others were made with the old password.
            login(request, person, backend=settings.AUTHENTICATION_BACKENDS[0])
            messages.success(
                request, "Your password is changed. Wherever else you were signed in, you are no longer."
            )
            return redirect("home")
    context = {"form": form, "error": TOO_MANY.format(minutes=minutes, s=_s(minutes)) if minutes else ""}
    status = 422 if request.method == "POST" else 200
    return _refused(render(request, "core/password.html", context, status=status), minutes)


def _safe(request: HttpRequest, target: str) -> str:
    if url_has_allowed_host_and_scheme(target, {request.get_host()}, require_https=request.is_secure()):
        return target
    return resolve_url(settings.LOGIN_REDIRECT_URL)


def _too_many(found: throttle.TooMany) -> str:
    return TOO_MANY.format(minutes=found.minutes, s=_s(found.minutes))


def _s(number: int) -> str:
    return "" if number == 1 else "s"


def _refused(response: HttpResponse, minutes: int) -> HttpResponse:
    if minutes:
        response.status_code = 429
        response["Retry-After"] = str(minutes * 60)
    return response
