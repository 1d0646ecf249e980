"""Gates: each returns what the person may see, or raises 404 (not a member) or 403 (another role)."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404

from annotation.models import Membership, Question, Role, Study, Trace
from core import statements
from core.errors import UserError
from core.models import User

_STUDY = statements.Columns(Study)
_TRACE = statements.Columns(Trace)
_QUESTION = statements.Columns(Question)
_STUDY_OF = f"""
SELECT m.role, {_STUDY.of("s")}
FROM annotation_study s JOIN annotation_membership m ON m.study_id = s.id
WHERE s.slug = %(slug)s AND m.person_id = %(person)s
"""  # noqa: S608 - our own columns
_TRACE_OF = f"""
SELECT {_TRACE.of("t")}, {_QUESTION.of("q")}
FROM annotation_trace t JOIN annotation_question q ON q.id = t.question_id
JOIN annotation_study s ON s.id = t.study_id
WHERE s.slug = %(slug)s AND t.token = %(token)s
"""  # noqa: S608 - our own columns


def roles_in(study: Study, person: User) -> set[str]:
    """Return the roles of a person in a study."""
    return set(Membership.objects.filter(study=study, person=person).values_list("role", flat=True))


def study_for(person: Any, slug: str, *roles: Role) -> Study:
    """Return the study, if the person has one of the roles there (any role when none is named).

    Raises Http404 for a study that does not exist or that the person is no member of, so that a stranger
    learns nothing; PermissionDenied for a member without the role.
    """
    return _study(statements.rows(_STUDY_OF, {"slug": slug, "person": person.pk}), roles)


def _study(rows: list[tuple[Any, ...]], roles: tuple[Role, ...]) -> Study:
    if not rows:
        raise Http404("no such study")
    if roles and not {row[0] for row in rows} & set(roles):
        raise PermissionDenied("this page belongs to another role in the study")
    return _STUDY.build(rows[0][1:])


def trace_for(person: Any, slug: str, token: str, *roles: Role) -> Trace:
    """Return a trace by its token, through its study and the person's role there."""
    memberships, found_traces = statements.together(
        (_STUDY_OF, {"slug": slug, "person": person.pk}), (_TRACE_OF, {"slug": slug, "token": token})
    )
    study = _study(memberships, roles)
    if not found_traces:
        raise Http404("no such trace")
    found = found_traces[0]
    trace = _TRACE.build(found[: len(_TRACE)])
    trace.question = _QUESTION.build(found[len(_TRACE) :])
    trace.study = trace.question.study = study
    return trace


def study_named(slug: str) -> Study:
    """Return the study of a command line; UserError names those that exist."""
    study = Study.objects.filter(slug=slug).first()
    if study is None:
        others = ", ".join(Study.objects.order_by("slug").values_list("slug", flat=True)) or "none yet"
        raise UserError(f'no study named "{slug}"; there are: {others}')
    return study
