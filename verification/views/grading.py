"""Calculators of grading error."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_http_methods

from core.access import person_of
from verification import access
from verification.calculators import CALCULATORS, Answer, answer, split_answer


@require_http_methods(["GET", "HEAD", "POST"])
def grading(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the calculators; one is computed from the address, a split from what is posted. Nothing is stored."""
    study = access.study_of_readers(person_of(request), slug)
    chosen = request.GET.get("calculate", "")
    answers = [
        answer(one, request.GET.dict())
        if one.key == chosen
        else Answer(one, [(field, field.example) for field in one.fields])
        for one in CALCULATORS
    ]
    split, problem = "", ""
    train, test = request.POST.get("train", ""), request.POST.get("test", "")
    if request.method == "POST":
        split, problem = split_answer(train, test)
    wrong = bool(problem) or any(one.problem for one in answers)
    context = {
        "study": study,
        "answers": answers,
        "split": split,
        "split_problem": problem,
        "train": train,
        "test": test,
    }
    return render(request, "verification/grading.html", context, status=422 if wrong else 200)
