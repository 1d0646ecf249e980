"""Reading the debate on a trace, once it is decided."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from adjudication import access, queries, sources
from adjudication.pages import rounds_of
from core.access import person_of

PER_PAGE = 50


@require_safe
@cache_control(private=True, no_store=True)
def debates(request: HttpRequest, slug: str) -> HttpResponse:
    """List the decided disputes whose debate was stored."""
    person = person_of(request)
    study = access.study_of_standards(person, slug)
    keys = queries.decided_with_debate(study).values_list("pk", flat=True)
    page = Paginator(keys, PER_PAGE).get_page(request.GET.get("page"))
    found = queries.disputes_by_key(list(page.object_list))
    letters = queries.letters_for([one.trace_id for one in found], study=study, person=person)
    return render(
        request,
        "adjudication/debates.html",
        {
            "study": study,
            "page": page,
            "rows": [(dispute, letters[dispute.trace_id]) for dispute in found],
        },
    )


@require_safe
@cache_control(private=True, no_store=True)
def debate(request: HttpRequest, slug: str, token: str) -> HttpResponse:
    """Show what each round of the debate on a decided trace was given and said."""
    person = person_of(request)
    found = access.decided_dispute_for(person, slug, token)
    return render(
        request,
        "adjudication/debate.html",
        {
            "study": found.study,
            "dispute": found,
            "letter": queries.letters_for([found.trace_id], study=found.study, person=person)[found.trace_id],
            "rounds": rounds_of(sources.debate_on(found.trace)),
            "decision": queries.standing_decision(found),
        },
    )
