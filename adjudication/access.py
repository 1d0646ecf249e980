"""Gates of adjudication: each returns what the person may see, or raises 404 or 403."""

from __future__ import annotations

from django.http import Http404

from adjudication.models import Dispute, ReferenceStandard
from annotation.access import study_for
from annotation.models import Role, Study
from core.models import User


def study_of_lead(person: User, slug: str) -> Study:
    """Return the study to its lead; an administrator who is no lead gets 403, a stranger 404."""
    return study_for(person, slug, Role.LEAD)


def dispute_for(person: User, slug: str, token: str) -> Dispute:
    """Return a dispute to a lead of its study."""
    study = study_of_lead(person, slug)
    dispute = Dispute.objects.filter(study=study, token=token).select_related("trace__question").first()
    if dispute is None:
        raise Http404("no such dispute")
    dispute.study = study
    return dispute


def study_of_standards(person: User, slug: str) -> Study:
    """Return the study to those who may read its standards: leads and administrators."""
    return study_for(person, slug, Role.LEAD, Role.ADMINISTRATOR)


def standard_for(person: User, slug: str, version: int) -> ReferenceStandard:
    """Return one standard to those who may read it."""
    study = study_of_standards(person, slug)
    standard = (
        ReferenceStandard.objects.filter(study=study, version=version)
        .select_related("parent", "guideline", "frozen_by")
        .first()
    )
    if standard is None:
        raise Http404("no such standard")
    standard.study = study
    return standard
