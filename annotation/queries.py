"""Reads of studies, queues and labels; nothing here writes."""

from __future__ import annotations

from annotation.models import Membership, Study
from core.models import User


def studies_of(person: User) -> list[tuple[Study, frozenset[str]]]:
    """Return the person's studies with their roles in each, newest study first; one query."""
    roles: dict[int, set[str]] = {}
    studies: dict[int, Study] = {}
    rows = (
        Membership.objects.filter(person=person).select_related("study").order_by("-study__created_at", "pk")
    )
    for row in rows:
        studies[row.study_id] = row.study
        roles.setdefault(row.study_id, set()).add(row.role)
    return [(study, frozenset(roles[key])) for key, study in studies.items()]
