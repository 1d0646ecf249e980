"""Gates of adjudication: each returns what the person may see, or raises 404 or 403."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import Http404

from adjudication import queries, sources
from adjudication.models import Dispute, ReferenceStandard, StandardLabel
from annotation.access import roles_in, study_for
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


def decided_dispute_for(person: User, slug: str, token: str) -> Dispute:
    """Return a decided dispute to those who may read its sources: leads and administrators.

    404 while it is not decided, whatever the roles. A lead must have asked for the sources of the ruling in
    force, with a guess; until then 403.
    """
    study = study_of_standards(person, slug)
    dispute = (
        Dispute.objects.filter(study=study, token=token, status=Dispute.Status.DECIDED)
        .select_related("trace__question")
        .first()
    )
    decision = queries.standing_decision(dispute) if dispute else None
    if dispute is None or decision is None:
        raise Http404("no such decided dispute")
    dispute.study = study
    if Role.LEAD in roles_in(study, person) and sources.guess_of(decision, person) is None:
        raise PermissionDenied("the sources are shown once you have guessed, on the page of the dispute")
    return dispute


def critical_label_for(
    person: User, slug: str, version: int, token: str
) -> tuple[ReferenceStandard, StandardLabel]:
    """Return a standard and the label of one of its critical traces to those who may read the standard."""
    standard = standard_for(person, slug, version)
    label = queries.critical_labels(standard).filter(trace__token=token).first()
    if label is None:
        raise Http404("no such critical trace")
    label.trace.study = standard.study
    return standard, label
