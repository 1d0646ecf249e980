"""Audits of answer keys: the list, a new one, one in full, deciding on it, reporting a key."""

from __future__ import annotations

import copy
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_POST, require_safe

from annotation.access import roles_in
from annotation.masking import keyed
from annotation.models import Question, Role, Study
from core.access import person_of
from core.errors import Conflict, UserError
from verification import access, queries
from verification.answer_keys.audit import diagnose
from verification.answer_keys.records import BadAudit
from verification.comparators.sentences import builtin_rules
from verification.forms import AuditForm, DecisionForm, KeyReportForm
from verification.models import KeyAudit
from verification.services.audits import audit_study, decide_audit, material_of, report_wrong_key

PER_PAGE = 100


@require_safe
@cache_control(private=True, no_store=True)
def audits(request: HttpRequest, slug: str) -> HttpResponse:
    """List the audits, and what the study's own keys look like."""
    study = access.study_of_readers(person_of(request), slug)
    return _list(request, study)


@require_POST
def new_audit(request: HttpRequest, slug: str) -> HttpResponse:
    """Audit one subject of the study's own keys."""
    person = person_of(request)
    study = access.study_of_readers(person, slug)
    form = AuditForm(request.POST)
    if not form.is_valid():
        return _list(request, study, form=form, status=422)
    data = form.cleaned_data
    try:
        kept = audit_study(
            study=study, title=data["title"], rule=data["rule_made"], domain=data["domain"], actor=person
        )
    except UserError as error:
        form.add_error(None, str(error))
        return _list(request, study, form=form, status=422)
    return redirect("key_audit", slug, kept.number)


@require_safe
@cache_control(private=True, no_store=True)
def audit(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Show one audit in full."""
    return _show(request, access.audit_for(person_of(request), slug, number))


@require_POST
def decide(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Accept or reject an audit."""
    person = person_of(request)
    access.study_of_expert(person, slug)
    kept = access.audit_for(person, slug, number)
    form = DecisionForm(request.POST)
    if not form.is_valid():
        return _show(request, kept, form=form, status=422)
    accepted = form.cleaned_data["decision"] == "accept"
    try:
        decide_audit(kept=kept, accepted=accepted, reason=form.cleaned_data["reason"], actor=person)
    except Conflict as error:
        form.add_error(None, str(error))
        return _show(request, access.audit_for(person, slug, number), form=form, status=409)
    words = "Accepted: its scores are in force." if accepted else "Rejected: nothing changes."
    messages.success(request, words)
    return redirect("key_audit", slug, number)


@require_POST
def report_key(request: HttpRequest, slug: str, number: int) -> HttpResponse:
    """Report a key of the study that the audit finds wrong."""
    person = person_of(request)
    access.study_of_expert(person, slug)
    kept = access.audit_for(person, slug, number)
    form = KeyReportForm(request.POST)
    if not form.is_valid():
        return _show(request, kept, report_form=form, status=422)
    try:
        report_wrong_key(kept=kept, actor=person, **form.cleaned_data)
    except UserError as error:
        form.add_error(None, str(error))
        status = 409 if isinstance(error, Conflict) else 422
        return _show(request, kept, report_form=form, status=status)
    messages.success(request, "Reported: it stands with the study's key reports.")
    return redirect("key_audit", slug, number)


def names_for(kept: KeyAudit, *, hidden: bool) -> dict[str, str]:
    """Return how each model of an audit is called: the generators of a study are numbered where they are hidden."""
    models = [row["model"] for row in kept.summary["models"]]
    if not hidden:
        return {model: model for model in models}
    ranked = sorted(models, key=lambda model: keyed(kept.study, "systems", kept.number, model))
    return {model: f"System {place}" for place, model in enumerate(ranked, start=1)}


def _list(
    request: HttpRequest, study: Study, *, form: AuditForm | None = None, status: int = 200
) -> HttpResponse:
    try:
        cells, problem = diagnose(material_of(study)), ""
    except BadAudit as error:
        cells, problem = [], str(error)
    subjects = Question.objects.filter(study=study).order_by("subject").values_list("subject", flat=True)
    context = {
        "study": study,
        "audits": queries.audits_of(study),
        "cells": cells,
        "problem": problem,
        "subjects": list(dict.fromkeys(subject or "no subject" for subject in subjects)),
        "rules": builtin_rules(),
        "form": form or AuditForm(),
    }
    return render(request, "verification/audits.html", context, status=status)


def _show(
    request: HttpRequest,
    kept: KeyAudit,
    *,
    form: DecisionForm | None = None,
    report_form: KeyReportForm | None = None,
    status: int = 200,
) -> HttpResponse:
    hidden = kept.of_study and not access.sees_sources(person_of(request), kept.study)
    names = names_for(kept, hidden=hidden)
    summary: dict[str, Any] = copy.deepcopy(kept.summary)
    for row in summary["models"]:
        row["model"] = names[row["model"]]
    summary["models"].sort(key=lambda row: row["model"])
    page = Paginator(queries.changed_responses(kept), PER_PAGE).get_page(request.GET.get("page"))
    questions = set(
        Question.objects.filter(
            study=kept.study, external_id__in=[row.item for row in page.object_list]
        ).values_list("external_id", flat=True)
    )
    context = {
        "study": kept.study,
        "audit": kept,
        "decision": getattr(kept, "decision", None),
        "summary": summary,
        "page": page,
        # a name that runs through the questions would link the solutions of one writer
        "rows": [(row, "" if hidden else row.model, row.item in questions) for row in page.object_list],
        "may_decide": Role.LEAD in roles_in(kept.study, person_of(request)),
        "form": form or DecisionForm(),
        "report_form": report_form or KeyReportForm(),
    }
    return render(request, "verification/audit.html", context, status=status)
