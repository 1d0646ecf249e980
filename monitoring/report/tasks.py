"""The Celery task that computes a report; thin, and harmless when delivered twice."""

from __future__ import annotations

from celery import shared_task

from adjudication.models import ReferenceStandard
from core.models import User
from monitoring.report import queries, services
from monitoring.report.selection import Selection
from stats.report import Options


@shared_task(name=services.TASK, time_limit=3600)
def compute_report_task(
    standard_id: int,
    resamples: int,
    seed: int,
    convention: str,
    actor_id: int | None,
    selected: dict[str, str] | None = None,
) -> None:
    """Compute the report of a standard and keep it."""
    standard = ReferenceStandard.objects.select_related("study").get(pk=standard_id)
    options = Options(resamples=resamples, seed=seed, convention=convention)
    selection = Selection(**(selected or {}))
    try:
        services.compute_report(
            study=standard.study,
            standard=standard,
            resamples=resamples,
            seed=seed,
            convention=convention,
            selection=selection,
            actor=User.objects.filter(pk=actor_id).first() if actor_id else None,
        )
    except Exception as error:
        standing = queries.standing_of(standard.study, standard, options, selection)
        services.note_failure(
            study=standard.study, key=standing.key, reason=f"{type(error).__name__}: {error}"
        )
        raise
