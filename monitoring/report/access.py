"""Gates of the report: who reads it, and who may see what tells the arms and the generators apart."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied

from adjudication.models import Dispute
from annotation.access import roles_in, study_for
from annotation.models import Role, Study
from core.models import User
from monitoring.models import StoredReport
from monitoring.report.build import for_the_blind
from monitoring.report.queries import document_of

READERS = (Role.LEAD, Role.ADMINISTRATOR)


def study_of_report(person: User, slug: str) -> Study:
    """Return the study to those who read its report: leads and administrators."""
    return study_for(person, slug, *READERS)


def is_blind(person: User, study: Study) -> bool:
    """Whether a person still has to judge without knowing arms and generators.

    A lead while a dispute of the study is open, an administrator too who is also lead or annotator; never one
    who is neither. The gate stands before the computed numbers, which are the same for all.
    """
    roles = roles_in(study, person)
    if Role.ADMINISTRATOR in roles and not roles & {Role.LEAD, Role.ANNOTATOR}:
        return False
    return Dispute.objects.filter(study=study, status=Dispute.Status.OPEN).exists()


def document_for(person: User, study: Study, stored: StoredReport) -> dict[str, Any]:
    """Return the document of a stored report as far as a person may see it."""
    document = document_of(stored)
    return for_the_blind(document) if is_blind(person, study) else document


def study_of_traces(person: User, slug: str) -> Study:
    """Return the study to those who may see verdicts, labels and generators trace by trace."""
    study = study_of_report(person, slug)
    if is_blind(person, study):
        raise PermissionDenied("traces are listed when no dispute is open")
    return study
