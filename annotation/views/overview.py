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
    page = Paginator(queries.questions_of(study), ROWS).get_page(request.GET.get("page"))
    shown = [question.pk for question in page.object_list]
    # That somebody doubts a key is a person's word on the question: hidden as long as the report itself is.
    hidden = set(blindness.hidden_questions(study, person).filter(pk__in=shown).values_list("pk", flat=True))
    rows = [
        {
            "question": question,
            "title": excerpt(question.statement, 200),
            "answer": excerpt(question.answer or "", 120),
            "reports": None if question.pk in hidden else question.report_count,
        }
        for question in page.object_list
    ]
    return render(request, "annotation/questions.html", {"study": study, "rows": rows, "page": page})
