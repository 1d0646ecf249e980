"""The desk: reading one trace, judging it, keeping a draft, reporting the key, skipping."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from annotation import pages
from annotation.access import trace_for
from annotation.forms import RIGHT, DraftForm, LabelForm, label_form
from annotation.models import Role, Trace
from annotation.pilot import PilotValues
from annotation.services.drafts import save_draft
from annotation.services.guideline import first_guideline
from annotation.services.keys import report_key
from annotation.services.labels import InvalidLabel, submit_label
from annotation.services.queue import claim_next, renew_hold, skip_trace
from core.access import person_of
from core.errors import Conflict, UserError
from core.models import User


@require_http_methods(["GET", "HEAD", "POST"])
def annotate(request: HttpRequest, slug: str, token: str) -> HttpResponse:
    """Show one trace; on POST submit its label and go on."""
    person = person_of(request)
    trace = trace_for(person, slug, token, Role.ANNOTATOR)
    if request.method != "POST":
        return _page(request, trace, person)
    form = label_form(trace.study)(request.POST)
    if not form.is_valid():
        return _page(request, trace, person, entered=_entered(form), errors=_errors(form), status=422)
    try:
        submit_label(
            trace=trace,
            person=person,
            final_correct=form.cleaned_data["final"] == RIGHT,
            first_error_step=form.first_error_step,
            comment=form.cleaned_data["comment"],
            expected_revision=form.cleaned_data["revision"],
            active_seconds=form.cleaned_data["active_seconds"],
            pilot=form.pilot,
        )
    except InvalidLabel as error:
        return _page(request, trace, person, entered=_entered(form), errors=[_sentence(error)], status=422)
    except Conflict as error:
        return _page(request, trace, person, entered=_entered(form), conflict=str(error), status=409)
    if request.POST.get("then") == "queue":
        return redirect("queue", slug)
    following = claim_next(study=trace.study, person=person)
    if following is None:
        messages.success(request, "Submitted. That was the last trace for you right now.")
        return redirect("queue", slug)
    return redirect("annotate", slug, following.token)


@require_POST
def draft(request: HttpRequest, slug: str, token: str) -> HttpResponse:
    """Keep what is entered so far; answers JSON for the page's script."""
    person = person_of(request)
    trace = trace_for(person, slug, token, Role.ANNOTATOR)
    form = DraftForm(request.POST)
    if not form.is_valid():
        return JsonResponse({"error": " ".join(_errors(form))}, status=422)
    try:
        kept = save_draft(
            trace=trace,
            person=person,
            content=form.content(),
            expected_version=form.cleaned_data["draft_version"] or 0,
        )
    except Conflict as error:
        return JsonResponse({"error": str(error)}, status=409)
    except InvalidLabel as error:
        return JsonResponse({"error": _sentence(error)}, status=422)
    return JsonResponse({"version": kept.version, "saved_at": kept.saved_at.isoformat()})


@require_POST
def key_report(request: HttpRequest, slug: str, token: str) -> HttpResponse:
    """Report that the reference answer looks wrong, and return to the trace."""
    person = person_of(request)
    trace = trace_for(person, slug, token, Role.ANNOTATOR)
    try:
        report_key(trace=trace, person=person, reason=request.POST.get("reason", ""))
    except UserError as error:
        messages.error(request, _sentence(error))
    else:
        messages.success(request, "Your report on the key is kept. Judge the answer by your own result.")
    return redirect("annotate", slug, token)


@require_POST
def skip(request: HttpRequest, slug: str, token: str) -> HttpResponse:
    """Give the trace back with a reason and go on to the next."""
    person = person_of(request)
    trace = trace_for(person, slug, token, Role.ANNOTATOR)
    try:
        skip_trace(trace=trace, person=person, reason=request.POST.get("reason", ""))
    except UserError as error:
        messages.error(request, _sentence(error))
        return redirect("annotate", slug, token)
    following = claim_next(study=trace.study, person=person)
    if following is None:
        messages.success(request, "Skipped. There is no other trace for you right now.")
        return redirect("queue", slug)
    return redirect("annotate", slug, following.token)


@require_POST
def hold(request: HttpRequest, slug: str, token: str) -> HttpResponse:
    """Keep the trace for its reader while the page is open; answers JSON for the page's script."""
    person = person_of(request)
    trace = trace_for(person, slug, token, Role.ANNOTATOR)
    until = renew_hold(trace=trace, person=person)
    return JsonResponse({"until": until.isoformat() if until else None})


def _page(
    request: HttpRequest,
    trace: Trace,
    person: User,
    *,
    entered: pages.Entered | None = None,
    errors: list[str] | None = None,
    conflict: str = "",
    status: int = 200,
) -> HttpResponse:
    page = pages.annotate_page(
        trace,
        person,
        guideline_fallback=first_guideline(),
        entered=entered,
        errors=errors,
        conflict=conflict,
    )
    # No store: going back after a submission must not show the form as it was before it.
    response = render(request, "annotation/annotate.html", {"page": page, "study": page.study}, status=status)
    response["Cache-Control"] = "no-store"
    return response


def _entered(form: LabelForm) -> pages.Entered:
    """Return what a refused form held, so that nothing has to be entered twice."""
    raw: Any = form.data
    step = str(raw.get("step", ""))
    seconds = str(raw.get("active_seconds", ""))
    return pages.Entered(
        final=raw.get("final", ""),
        first_error=raw.get("first_error", ""),
        step=int(step) if step.isdecimal() and len(step) < 7 else None,
        comment=raw.get("comment", ""),
        active_seconds=int(seconds) if seconds.isdecimal() and len(seconds) < 7 else 0,
        pilot=PilotValues(raw.get("coherence", ""), raw.get("error_type", "")),
    )


def _errors(form: LabelForm) -> list[str]:
    return [str(message) for found in form.errors.values() for message in found]


def _sentence(error: UserError) -> str:
    text = str(error)
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
