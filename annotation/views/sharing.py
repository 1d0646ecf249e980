"""The administrator's page of the queue: its rules, its people, what is read first."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from annotation import queries
from annotation.access import study_for
from annotation.forms import PriorityForm, QueueForm
from annotation.models import Role, Study, Trace
from annotation.services import sharing
from core.access import person_of
from core.errors import UserError
from core.models import User


@require_GET
def queue_rules(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the rules, and who holds what. No judgement is shown."""
    study = study_for(person_of(request), slug, Role.ADMINISTRATOR)
    return _page(request, study, QueueForm(initial={name: getattr(study, name) for name in sharing.SETTINGS}))


@require_POST
def change_rules(request: HttpRequest, slug: str) -> HttpResponse:
    """Set the rules and count anew."""
    person = person_of(request)
    study = study_for(person, slug, Role.ADMINISTRATOR)
    form = QueueForm(request.POST)
    if not form.is_valid():
        return _page(request, study, form, status=422)
    changed = sharing.change_queue(study=study, actor=person, **form.cleaned_data)
    messages.success(
        request, "The rules are changed." if changed else "Nothing to change: these are the rules."
    )
    return redirect("queue_rules", slug)


@require_POST
def set_priority(request: HttpRequest, slug: str) -> HttpResponse:
    """Put questions first, or back in line."""
    person = person_of(request)
    study = study_for(person, slug, Role.ADMINISTRATOR)
    form = PriorityForm(request.POST)
    if not form.is_valid():
        messages.error(request, " ".join(str(text) for found in form.errors.values() for text in found))
        return redirect("queue_rules", slug)

    def act() -> str:
        changed = sharing.set_priority(
            study=study,
            questions=form.cleaned_data["questions"],
            priority=form.cleaned_data["priority"],
            actor=person,
        )
        return f"{changed} trace{'' if changed == 1 else 's'} moved."

    return _done(request, slug, act)


@require_POST
def pause(request: HttpRequest, slug: str, username: str) -> HttpResponse:
    """Pause a person."""
    study, actor, person = _person(request, slug, username)

    def act() -> str:
        sharing.pause_person(study=study, person=person, actor=actor, reason=request.POST.get("reason", ""))
        return f"{person} gets no traces until you resume them; what they held went back."

    return _done(request, slug, act)


@require_POST
def resume(request: HttpRequest, slug: str, username: str) -> HttpResponse:
    """End a pause."""
    study, actor, person = _person(request, slug, username)

    def act() -> str:
        sharing.resume_person(study=study, person=person, actor=actor)
        return f"{person} gets traces again."

    return _done(request, slug, act)


@require_POST
def move_hold(request: HttpRequest, slug: str, username: str, token: str) -> HttpResponse:
    """Take a held trace back, or pass it to another annotator."""
    study, actor, person = _person(request, slug, username)
    trace = Trace.objects.select_related("study").filter(study=study, token=token).first()
    if trace is None:
        raise Http404("no such trace")
    to = request.POST.get("to", "")

    def act() -> str:
        if not to:
            sharing.release_hold(trace=trace, person=person, actor=actor)
            return "The trace is back in the queue."
        other = queries.annotator_named(study, to)
        if other is None:
            raise sharing.InvalidSetting(f'no annotator "{to}" in this study')
        sharing.reassign_hold(trace=trace, person=person, to=other, actor=actor)
        return f"{other} reads it now."

    return _done(request, slug, act)


def _person(request: HttpRequest, slug: str, username: str) -> tuple[Study, User, User]:
    actor = person_of(request)
    study = study_for(actor, slug, Role.ADMINISTRATOR)
    person = queries.annotator_named(study, username)
    if person is None:
        raise Http404("no such annotator")
    return study, actor, person


def _done(request: HttpRequest, slug: str, act: Callable[[], str]) -> HttpResponse:
    try:
        messages.success(request, act())
    except UserError as error:
        text = str(error)
        messages.error(request, text[:1].upper() + text[1:] + ".")
    return redirect("queue_rules", slug)


def _page(request: HttpRequest, study: Study, form: QueueForm, *, status: int = 200) -> HttpResponse:
    return render(
        request,
        "annotation/queue_rules.html",
        {
            "study": study,
            "form": form,
            "people": queries.annotators(study),
            "first": queries.prioritised(study),
        },
        status=status,
    )
