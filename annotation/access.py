"""Gates: each returns what the person may see, or raises 404 (not a member) or 403 (another role)."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404

from annotation.models import Membership, Role, Study, Trace
from core.errors import UserError
from core.models import User


def roles_in(study: Study, person: User) -> set[str]:
    """Return the roles of a person in a study."""
    return set(Membership.objects.filter(study=study, person=person).values_list("role", flat=True))


def study_for(person: Any, slug: str, *roles: Role) -> Study:
    """Return the study, if the person has one of the roles there (any role when none is named).

    Raises Http404 for a study that does not exist or that the person is no member of, so that a stranger
    learns nothing; PermissionDenied for a member without the role.
    """
    rows = list(Membership.objects.filter(study__slug=slug, person=person).select_related("study"))
    if not rows:
        raise Http404("no such study")
    if roles and not {row.role for row in rows} & set(roles):
        raise PermissionDenied("this page belongs to another role in the study")
    return rows[0].study


def trace_for(person: Any, slug: str, token: str, *roles: Role) -> Trace:
    """Return a trace by its token, through its study and the person's role there."""
    study = study_for(person, slug, *roles)
    trace = Trace.objects.select_related("question").filter(study=study, token=token).first()
    if trace is None:
        raise Http404("no such trace")
    trace.study = trace.question.study = study
    return trace


def study_named(slug: str) -> Study:
    """Return the study of a command line; UserError names those that exist."""
    study = Study.objects.filter(slug=slug).first()
    if study is None:
        others = ", ".join(Study.objects.order_by("slug").values_list("slug", flat=True)) or "none yet"
        raise UserError(f'no study named "{slug}"; there are: {others}')
    return study
