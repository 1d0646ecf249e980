"""What leads and administrators see of a study's questions and of the human arm: counts, never a label."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from annotation import queries
from annotation.access import study_for
from annotation.models import Role
from core.access import person_of
from core.mathtext import excerpt

ROWS = 50


@require_GET
def questions(request: HttpRequest, slug: str) -> HttpResponse:
    """List the questions with their answers, traces and key reports."""
    study = study_for(person_of(request), slug, Role.LEAD, Role.ADMINISTRATOR)
    page = Paginator(queries.question_keys(study), ROWS).get_page(request.GET.get("page"))
    rows = [
        {
            "question": question,
            "title": excerpt(question.statement, 200),
            "answer": excerpt(question.answer or "", 120),
        }
        for question in queries.questions_of(study).filter(pk__in=list(page.object_list))
    ]
    return render(request, "annotation/questions.html", {"study": study, "rows": rows, "page": page})


@require_GET
def coverage(request: HttpRequest, slug: str) -> HttpResponse:
    """Show how far the human arm has come: traces, people, key reports. No judgement is shown."""
    study = study_for(person_of(request), slug, Role.LEAD, Role.ADMINISTRATOR)
    return render(
        request,
        "annotation/coverage.html",
        {
            "study": study,
            "coverage": queries.coverage(study),
            "people": queries.throughput(study),
            "reports": queries.key_reports(study)[:200],
        },
    )
