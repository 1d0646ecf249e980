"""Code what a critical trace's error has to do with its conclusion, and take a coding back."""

from __future__ import annotations

from django.db import IntegrityError, transaction

from adjudication import queries
from adjudication.models import CriticalRole, ReferenceStandard, StandardLabel
from annotation.models import Trace
from core import audit
from core.errors import Conflict, UserError
from core.models import User


class NotCritical(UserError):
    """The trace is not critical in the standard, so that it has no role to code."""


class RoleMoved(Conflict):
    """Somebody coded the trace meanwhile."""

    def __init__(self, standing: CriticalRole | None) -> None:
        what = (
            f"as “{standing.get_kind_display()}”" if standing and standing.kind else "or took a coding back"
        )
        super().__init__(f"somebody coded this solution meanwhile, {what}; nothing was saved")


def code_role(
    *, standard: ReferenceStandard, trace: Trace, kind: str, lead: User, expected_revision: int
) -> CriticalRole:
    """Code the role of a critical trace of a standard; a change is a new row that supersedes the old.

    The same kind again is no change. `expected_revision` is the revision the lead had seen (0: none). Raises
    NotCritical, RoleMoved, UserError for a kind that is none of the four.
    """
    if kind not in CriticalRole.Kind.values:
        raise UserError(f'a role is one of {", ".join(CriticalRole.Kind.values)}, not "{kind}"')
    return _write(
        standard=standard, trace=trace, kind=kind, lead=lead, expected=expected_revision, action="role coded"
    )


def take_back_role(
    *, standard: ReferenceStandard, trace: Trace, lead: User, expected_revision: int
) -> CriticalRole:
    """Take a coding back: the trace counts as uncoded. Raises NotCritical, RoleMoved."""
    if queries.role_of(trace) is None:
        raise Conflict("this solution is not coded: there is nothing to take back")
    return _write(
        standard=standard,
        trace=trace,
        kind="",
        lead=lead,
        expected=expected_revision,
        action="role taken back",
    )


def _write(
    *, standard: ReferenceStandard, trace: Trace, kind: str, lead: User, expected: int, action: str
) -> CriticalRole:
    label = standard.labels.filter(trace=trace).first()
    if label is None or label.cell != StandardLabel.Cell.CRITICAL:
        raise NotCritical(f"this solution is not critical in standard {standard.version}")
    standing = queries.role_of(trace)
    if standing is not None and standing.kind == kind:
        return standing
    revision = standing.revision if standing else 0
    if revision != expected:
        raise RoleMoved(standing)
    try:
        with transaction.atomic():
            role = CriticalRole.objects.create(
                trace=trace, kind=kind, coded_by=lead, revision=revision + 1, supersedes=standing
            )
            audit.record(
                scope=standard.study.slug,
                actor=lead,
                action=action,
                subject=f"trace {trace.token}",
                payload={"kind": kind, "revision": role.revision, "standard": standard.version},
            )
            return role
    except IntegrityError:
        raise RoleMoved(queries.role_of(trace)) from None
