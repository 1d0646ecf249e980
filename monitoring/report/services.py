"""Compute and keep a report; order one from a worker."""

from __future__ import annotations

import json
from typing import Any

from celery import current_app
from django.db import transaction
from django.utils import timezone

from adjudication.models import ReferenceStandard
from annotation.models import Study
from core import audit
from core.models import User
from monitoring.models import StoredReport
from monitoring.report import queries
from monitoring.report.build import build, report_key
from monitoring.report.source import load
from stats.report import OWN, Options

TASK = "monitoring.compute_report"


def compute_report(
    *,
    study: Study,
    standard: ReferenceStandard,
    resamples: int = 2000,
    seed: int = 0,
    convention: str = OWN,
    actor: User | None = None,
) -> StoredReport:
    """Return the report of what is stored now, computed unless it was already. Safe to repeat."""
    options = Options(resamples=resamples, seed=seed, convention=convention)
    source = load(study, standard)
    key = report_key(standard, source.fingerprint, options)
    known = StoredReport.objects.filter(study=study, key=key).first()
    if known is not None and queries.is_ready(known):
        return known
    content = build(source, study, standard, options)
    with transaction.atomic():
        report, _ = StoredReport.objects.select_for_update().get_or_create(
            study=study, key=key, defaults={"standard": standard, "content": {}}
        )
        if queries.is_ready(report):  # another worker was faster; its content is the same
            return report
        report.content = {
            "state": queries.READY,
            "convention": convention,
            "document": json.dumps(content, ensure_ascii=False, allow_nan=False),
        }
        report.save(update_fields=["content"])
        audit.record(
            scope=study.slug,
            actor=actor,
            action="report computed",
            subject=f"standard {standard.version}",
            payload={
                "key": key,
                "standard_sha256": standard.sha256,
                "verdicts_sha256": content["verdicts"]["sha256"],
                "resamples": resamples,
                "seed": seed,
                "convention": convention,
            },
        )
    return report


def order_report(*, study: Study, standard: ReferenceStandard, options: Options, actor: User) -> StoredReport:
    """Note that a report is wanted and wake a worker; one that is there already is returned as it is."""
    with transaction.atomic():
        standing = queries.standing_of(study, standard, options)
        if standing.current is not None and queries.is_ready(standing.current):
            return standing.current
        order: dict[str, Any] = {
            "state": queries.ORDERED,
            "ordered_at": timezone.now().isoformat(),
            "ordered_by": actor.username,
        }
        report, _ = StoredReport.objects.update_or_create(
            study=study, key=standing.key, defaults={"standard": standard, "content": order}
        )
        audit.record(
            scope=study.slug,
            actor=actor,
            action="report ordered",
            subject=f"standard {standard.version}",
            payload={"key": standing.key},
        )
        transaction.on_commit(
            lambda: current_app.send_task(
                TASK, args=[standard.pk, options.resamples, options.seed, options.convention, actor.pk]
            ),
            robust=True,  # a broker that is down must not lose the order: the page offers it again
        )
    return report


def note_failure(*, study: Study, key: str, reason: str) -> None:
    """Turn an order into a failure that the page can tell; a computed report stays."""
    with transaction.atomic():
        report = StoredReport.objects.select_for_update().filter(study=study, key=key).first()
        if report is not None and not queries.is_ready(report):
            report.content = {**report.content, "state": queries.FAILED, "reason": reason}
            report.save(update_fields=["content"])
