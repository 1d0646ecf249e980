"""The annotators' queue: where they stand, what they have done, and the next trace."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from annotation import pages, queries, training
from annotation.access import study_for
from annotation.models import Role
from annotation.services.queue import claim_next
from core.access import person_of

ROWS = 50


@require_GET
def queue(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the person's queue in a study."""
    person = person_of(request)
    study = study_for(person, slug, Role.ANNOTATOR)
    after = request.GET.get("after", "")[:40]
    found = queries.labels_after(study, person, after, limit=ROWS + 1)
    labels = found[:ROWS]
    drafts = [] if after else list(queries.drafts_of(study, person)[:ROWS])
    return render(
        request,
        "annotation/queue.html",
        {
            "study": study,
            "progress": queries.progress(study, person),
            "paused": queries.is_paused(study, person),
            "held": queries.held_by(study, person),
            "rows": pages.queue_rows(study, person, labels, drafts),
            "after": after,
            "older": labels[-1].trace.token if len(found) > ROWS else "",
        },
    )


@require_POST
def queue_next(request: HttpRequest, slug: str) -> HttpResponse:
    """Claim the next trace and go to it; where there is none, back to the queue, which says why."""
    person = person_of(request)
    study = study_for(person, slug, Role.ANNOTATOR)
    trace = claim_next(study=study, person=person)
    if trace is None and not training.may_read(study, person):
        messages.info(
            request, "First pass the training of this study: a few solutions with known judgements."
        )
        return redirect("training", study.slug)
    if trace is None:
        messages.info(request, "There is no trace for you to read right now.")
        return redirect("queue", study.slug)
    return redirect("annotate", study.slug, trace.token)
