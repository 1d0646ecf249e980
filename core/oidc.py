"""Signing in by an OpenID provider: only people who are known or invited, matched by subject or verified e-mail.

On where FALSESTEP_OIDC_* are set. mozilla-django-oidc checks signature, nonce, state and PKCE; issuer, audience and
time are checked here, as is whether the provider asked the person just now, which confirming (core.sudo) needs.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.backends import ModelBackend
from django.core.exceptions import SuspiciousOperation
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from jwt import PyJWTError
from mozilla_django_oidc import auth, views
from requests import RequestException

from core import audit, sudo
from core.models import ExternalIdentity, User

logger = logging.getLogger("falsestep.oidc")

LEEWAY = 60.0  # seconds that clocks may differ by
REFUSED = (
    "{provider} knows you, but this site does not: you are not invited here with that e-mail address, or the provider "
    "does not vouch for it. Nothing was changed. Ask an administrator of your study for an invitation."
)
FAILED = (
    "Signing in with {provider} did not work. Nothing was changed; try again, or sign in with your password."
)

Newcomer = Callable[[str, str], User | None]
_newcomers: list[Newcomer] = []


def register_newcomers(function: Newcomer) -> None:
    """Let `function(email, display name)` make a person of somebody whom an app above expects, or return None."""
    if function not in _newcomers:
        _newcomers.append(function)


def check_claims(payload: Mapping[str, Any], *, now: float) -> None:
    """Raise SuspiciousOperation for an ID token of another issuer, for another client, or out of time."""
    audience = payload.get("aud")
    audiences = audience if isinstance(audience, list) else [audience]
    if payload.get("iss") != settings.OIDC_ISSUER:
        raise SuspiciousOperation("the ID token is of another issuer")
    if settings.OIDC_RP_CLIENT_ID not in audiences:
        raise SuspiciousOperation("the ID token is for another client")
    if len(audiences) > 1 and payload.get("azp") != settings.OIDC_RP_CLIENT_ID:
        raise SuspiciousOperation("the ID token was given to another client")
    expires = payload.get("exp")
    if not isinstance(expires, int | float) or expires < now - LEEWAY:
        raise SuspiciousOperation("the ID token has expired")
    if not isinstance(payload.get("sub"), str) or not payload["sub"] or len(payload["sub"]) > 255:
        raise SuspiciousOperation("the ID token names no subject")


class Backend(auth.OIDCAuthenticationBackend):
    """Finds the person of an ID token."""

    def authenticate(self, request: HttpRequest | None, **kwargs: Any) -> User | None:
        """Answer the callback alone: it has the nonce of a sign-in that began here."""
        if not kwargs.get("nonce"):
            return None
        person: User | None = super().authenticate(request, **kwargs)
        return person

    def get_user(self, user_id: Any) -> Any:
        """Return the person of a session, as long as they may sign in; the library would ask no further."""
        return ModelBackend.get_user(self, user_id)

    def verify_token(self, token: str, **kwargs: Any) -> Any:
        payload = super().verify_token(token, **kwargs)
        check_claims(payload, now=time.time())
        return payload

    def get_or_create_user(self, access_token: str, id_token: str, payload: Any) -> User | None:
        """Return the person of a subject; one seen first is matched by an e-mail that the provider vouches for."""
        claims = self.get_userinfo(access_token, id_token, payload)
        if claims.get("sub") != payload["sub"]:
            raise SuspiciousOperation("the user info is of another subject")
        asked_at = payload.get("auth_time")
        # Without the time at which it asked, the provider may have let the person through by an old session.
        self.request.asked_by_provider_at = asked_at if isinstance(asked_at, int | float) else 0.0
        with transaction.atomic():
            return self._person(payload["sub"], claims)

    def _person(self, subject: str, claims: Mapping[str, Any]) -> User | None:
        known = ExternalIdentity.objects.select_related("person").filter(
            issuer=settings.OIDC_ISSUER, subject=subject
        )
        identity = known.first()
        if identity is not None:
            return identity.person if identity.person.is_active else None
        email = claims.get("email")
        if not isinstance(email, str) or "@" not in email or claims.get("email_verified") is not True:
            return None
        people = list(User.objects.filter(email__iexact=email)[:2])
        if len(people) > 1:
            return None
        person = people[0] if people else self._newcomer(email, claims)
        if person is None or not person.is_active:
            return None
        ExternalIdentity.objects.create(person=person, issuer=settings.OIDC_ISSUER, subject=subject)
        audit.record(
            scope=audit.SITE,
            actor=person,
            action="external identity linked",
            subject=person.username,
            payload={"issuer": settings.OIDC_ISSUER, "subject": subject},
        )
        return person

    def _newcomer(self, email: str, claims: Mapping[str, Any]) -> User | None:
        name = claims.get("name")
        display_name = name[:100] if isinstance(name, str) else ""
        for function in _newcomers:
            person = function(email, display_name)
            if person is not None:
                return person
        if not settings.OIDC_CREATE_USER or User.objects.filter(username__iexact=email).exists():
            return None
        person = User(username=email[:150], email=email, display_name=display_name)
        person.set_unusable_password()
        person.save()
        audit.record(scope=audit.SITE, actor=person, action="person added", subject=person.username)
        return person


class _Optional:
    """404 where no provider is set."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not settings.OIDC_RP_CLIENT_ID:
            raise Http404("no provider is set")
        answer: HttpResponse = super().dispatch(request, *args, **kwargs)  # type: ignore[misc]
        answer["Cache-Control"] = "no-store"
        return answer


class Begin(_Optional, views.OIDCAuthenticationRequestView):
    """Leads to the provider; with `again` it must ask the person anew."""

    def get_extra_params(self, request: HttpRequest) -> dict[str, str]:
        return {"prompt": "login", "max_age": "0"} if request.GET.get("again") else {}


class Callback(_Optional, views.OIDCAuthenticationCallbackView):
    """Where the provider leads back to."""

    refused = REFUSED

    def get(self, request: HttpRequest) -> HttpResponse:
        """Sign in, or say why not; what a provider answers is never an error of ours."""
        before = request.user.pk
        if request.GET.get("error"):
            # The library would sign out whoever only did not want to confirm.
            messages.error(request, FAILED.format(provider=settings.OIDC_NAME))
            return redirect("home" if request.user.is_authenticated else "login")
        try:
            answer: HttpResponse = super().get(request)
        except (SuspiciousOperation, RequestException, PyJWTError, ValueError, KeyError, TypeError) as error:
            logger.warning("sign-in by OpenID failed: %s: %s", type(error).__name__, error)
            self.refused = FAILED
            answer = self.login_failure()
        asked_at = getattr(request, "asked_by_provider_at", None)
        if before is not None and request.user.pk == before and asked_at is not None:
            # The same person was signed in already: the library signs nobody in anew.
            request.session.cycle_key()
            sudo.confirm(request, at=asked_at)
        return answer

    def login_failure(self) -> HttpResponse:
        messages.error(self.request, self.refused.format(provider=settings.OIDC_NAME))
        return HttpResponseRedirect("/" if self.request.user.is_authenticated else self.failure_url)
