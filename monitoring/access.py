"""Gates of monitoring: each returns what the person may see, or raises 404 or 403."""

from __future__ import annotations

from django.http import Http404

from annotation.access import study_for
from annotation.models import Role, Study
from core.models import User
from monitoring.models import Batch, Run


def study_of_administrator(person: User, slug: str) -> Study:
    """Return the study to its administrators: 403 for its other members, 404 for strangers."""
    return study_for(person, slug, Role.ADMINISTRATOR)


def batch_for(person: User, slug: str, number: int) -> Batch:
    """Return a batch to an administrator of its study."""
    study = study_of_administrator(person, slug)
    batch = Batch.objects.filter(study=study, number=number).select_related("standard", "launched_by").first()
    if batch is None:
        raise Http404("no such batch")
    batch.study = study
    return batch


def run_for(person: User, slug: str, number: int, monitor: str, condition: str) -> Run:
    """Return a run of a batch to an administrator of its study."""
    batch = batch_for(person, slug, number)
    run = Run.objects.filter(batch=batch, monitor__slug=monitor, condition=condition)
    found = run.select_related("monitor").first()
    if found is None:
        raise Http404("no such run")
    found.batch = batch
    return found
