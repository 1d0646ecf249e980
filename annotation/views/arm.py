"""The page of the human arm, for leads and administrators."""

from __future__ import annotations

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from annotation import arm as human_arm
from annotation import blindness, masking, queries
from annotation.access import roles_in, study_for
from annotation.models import Role
from core.access import person_of

ROWS = 50
REPORTS = 200


@require_GET
def arm(request: HttpRequest, slug: str) -> HttpResponse:
    """Show how far the human arm has come and how its people agree. No judgement is shown."""
    person = person_of(request)
    study = study_for(person, slug, Role.LEAD, Role.ADMINISTRATOR)
    roles = roles_in(study, person)
    blind = Role.LEAD in roles and blindness.unsettled(study).exists()
    coverage, people = human_arm.coverage(study), human_arm.people(study)
    page = Paginator(human_arm.comments(study, person), ROWS).get_page(request.GET.get("page"))
    found = list(page.object_list)
    tokens = queries.tokens_by_question({label.trace.question_id for label in found})
    comments = [
        {
            "label": label,
            "letter": masking.letters(
                study, person, label.trace.question_id, tokens[label.trace.question_id]
            )[label.trace.token],
        }
        for label in found
    ]
    hidden_comments, hidden_reports = human_arm.hidden_numbers(study, person)
    return render(
        request,
        "annotation/arm.html",
        {
            "study": study,
            "coverage": coverage,
            "people": people,
            "reminders": human_arm.reminders(people, coverage),
            "agreement": human_arm.agreement(study, least=human_arm.SHOWN_FROM if blind else 1),
            "blind": blind,
            "shown_from": human_arm.SHOWN_FROM,
            "reports": human_arm.key_reports(study, person)[:REPORTS],
            "comments": comments,
            "page": page,
            "hidden_comments": hidden_comments,
            "hidden_reports": hidden_reports,
            "may_export": Role.ADMINISTRATOR in roles,
        },
    )
