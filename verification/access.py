"""Gates of verification: each returns what the person may see, or raises 404 or 403."""

from __future__ import annotations

from django.http import Http404

from annotation.access import roles_in, study_for, trace_for
from annotation.models import Role, Study, Trace
from core.models import User
from verification.models import ExpertItem, KeyAudit


def study_of_readers(person: User, slug: str) -> Study:
    """Return the study to its leads and administrators."""
    return study_for(person, slug, Role.LEAD, Role.ADMINISTRATOR)


def study_of_expert(person: User, slug: str) -> Study:
    """Return the study to its leads, who are its experts."""
    return study_for(person, slug, Role.LEAD)


def trace_of_readers(person: User, slug: str, token: str) -> Trace:
    """Return a trace to leads and administrators."""
    return trace_for(person, slug, token, Role.LEAD, Role.ADMINISTRATOR)


def trace_of_expert(person: User, slug: str, token: str) -> Trace:
    """Return a trace to leads."""
    return trace_for(person, slug, token, Role.LEAD)


def item_for(person: User, slug: str, token: str) -> ExpertItem:
    """Return an item of the experts' queue to a lead."""
    study = study_of_expert(person, slug)
    items = ExpertItem.objects.filter(study=study, token=token)
    item = items.select_related("trace__question", "trace__study", "taken_by").first()
    if item is None:
        raise Http404("no such item")
    item.study = study
    return item


def audit_for(person: User, slug: str, number: int) -> KeyAudit:
    """Return an audit to leads and administrators."""
    study = study_of_readers(person, slug)
    audits = KeyAudit.objects.filter(study=study, number=number)
    audit = audits.select_related("decision__decided_by", "created_by").first()
    if audit is None:
        raise Http404("no such audit")
    audit.study = study
    return audit


def sees_sources(person: User, study: Study) -> bool:
    """Whether a person may see who wrote the study's traces: never a lead, nor somebody who labels."""
    return not roles_in(study, person) & {Role.LEAD, Role.ANNOTATOR}
