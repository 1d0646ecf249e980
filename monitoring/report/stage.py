"""The report as a stage of a study."""

from __future__ import annotations

from annotation import stages
from annotation.models import Role, Study
from annotation.stages import Stage, StageCount
from core.models import User
from monitoring.models import StoredReport
from monitoring.report.queries import READY


def count_reports(study: Study, person: User, roles: frozenset[str]) -> StageCount:
    """Say how many standards of the study have a computed report."""
    versions = (
        StoredReport.objects.filter(study=study, content__state=READY)
        .order_by()
        .values_list("standard__version", flat=True)
        .distinct()
    )
    found = sorted(versions)
    if not found:
        return StageCount(None, "not computed yet")
    return StageCount(len(found), f"newest on standard {found[-1]}", done=True)


def register() -> None:
    """Add the stage to the line."""
    readers = frozenset({Role.LEAD.value, Role.ADMINISTRATOR.value})
    stages.register(
        Stage(
            key="report",
            title="Report",
            order=80,
            count=count_reports,
            url_name="report_latest",
            linked_for=readers,
            shown_to=readers,
            nav_title="Report",
        )
    )
