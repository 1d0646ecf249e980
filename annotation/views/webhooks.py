"""The administrator's page of webhooks: who is told of events, and how the messages fared."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_POST, require_safe

from annotation.access import study_for
from annotation.models import Role
from core import webhooks as service
from core.access import person_of
from core.errors import UserError

SHOWN = 50


@require_safe
@cache_control(private=True, no_store=True)
def webhooks(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the webhooks and the latest messages; ids in messages are not shown."""
    study = study_for(person_of(request), slug, Role.ADMINISTRATOR)
    return render(
        request,
        "annotation/webhooks.html",
        {
            "study": study,
            "rows": list(service.webhooks_of(study.slug)),
            "deliveries": list(service.deliveries_of(study.slug)[:SHOWN]),
            "events": service.Event.choices,
        },
    )


@require_POST
def webhook_add(request: HttpRequest, slug: str) -> HttpResponse:
    """Register an address; its secret is shown once."""
    person = person_of(request)
    study = study_for(person, slug, Role.ADMINISTRATOR)
    try:
        webhook = service.add_webhook(
            scope=study.slug,
            url=request.POST.get("url", ""),
            events=request.POST.getlist("events"),
            actor=person,
        )
    except UserError as error:
        text = str(error)
        messages.error(request, text[:1].upper() + text[1:] + ".")
    else:
        messages.success(
            request,
            f"Added. The secret that signs its messages, shown only now: {service.secret_of(webhook)}",
        )
    return redirect("webhooks", slug)


@require_POST
def webhook_remove(request: HttpRequest, slug: str, token: str) -> HttpResponse:
    """Send nothing more to an address."""
    person = person_of(request)
    study = study_for(person, slug, Role.ADMINISTRATOR)
    service.remove_webhook(
        webhook=get_object_or_404(service.webhooks_of(study.slug), token=token), actor=person
    )
    messages.success(request, "Removed: nothing more is sent there.")
    return redirect("webhooks", slug)
