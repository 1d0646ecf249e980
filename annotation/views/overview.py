"""What leads and administrators see of a study's questions: counts, never a label."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from annotation import blindness, queries
from annotation.access import study_for
from annotation.models import Role
from core.access import person_of
from core.mathtext import excerpt

ROWS = 50


@require_GET
def questions(request: HttpRequest, slug: str) -> HttpResponse:
    """List the questions with their answers, traces and key reports."""
    person = person_of(request)
    study = study_for(person, slug, Role.LEAD, Role.ADMINISTRATOR)
    page = Paginator(queries.question_keys(study), ROWS).get_page(request.GET.get("page"))
    shown = list(page.object_list)
    # That somebody doubts a key is a person's word on the question: hidden as long as the report itself is.
    hidden = blindness.hidden_among(study, person, shown)
    rows = [
        {
            "question": question,
            "title": excerpt(question.statement, 200),
            "answer": excerpt(question.answer or "", 120),
            "reports": None if question.pk in hidden else question.report_count,
        }
        for question in queries.questions_of(study).filter(pk__in=shown)
    ]
    return render(request, "annotation/questions.html", {"study": study, "rows": rows, "page": page})
