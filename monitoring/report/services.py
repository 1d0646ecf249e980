"""Compute and keep a report; order one from a worker."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from celery import current_app
from django.db import transaction
from django.utils import timezone

from adjudication.models import ReferenceStandard
from adjudication.services.standards import check_unchanged
from annotation.models import Study
from core import audit
from core.models import User
from monitoring.models import StoredReport
from monitoring.report import queries
from monitoring.report.build import build, report_key
from monitoring.report.selection import Selection
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
    selection: Selection | None = None,
    actor: User | None = None,
    progress: Callable[[str], None] | None = None,
) -> StoredReport:
    """Return the report of what is stored now, computed unless it was already. Safe to repeat.

    Raises StandardChanged for a standard whose rows no longer have the hash on its card.

    `progress` is told the name of each part before it is computed; an order that is stored is told too.
    """
    options = Options(resamples=resamples, seed=seed, convention=convention)
    check_unchanged(standard)
    source = load(study, standard, selection)
    key = report_key(standard, source.fingerprint, options, selection)
    known = StoredReport.objects.filter(study=study, key=key).first()
    if known is not None and queries.is_ready(known):
        return known
    teller = _Teller(study, key, progress)
    content = build(source, study, standard, options, selection=selection, progress=teller)
    with transaction.atomic():
        report, _ = StoredReport.objects.select_for_update().get_or_create(
            study=study, key=key, defaults={"standard": standard, "content": {}}
        )
        if queries.is_ready(report):  # another worker was faster; its content is the same
            return report
        report.content = {
            "state": queries.READY,
            "convention": convention,
            "selection": queries.selection_text(selection),
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
                **({"selection": selection.parts} if selection and selection.parts else {}),
            },
        )
    return report


class _Teller:
    """Tells how far a report is: to a caller, and on its stored order, at most twice a second."""

    def __init__(self, study: Study, key: str, also: Callable[[str], None] | None) -> None:
        self.study, self.key, self.also = study, key, also
        self.parts = 0
        self.told = time.monotonic()

    def __call__(self, section: str) -> None:
        self.parts += 1
        if self.also:
            self.also(section)
        if time.monotonic() - self.told < 0.5:
            return
        self.told = time.monotonic()
        with transaction.atomic():
            report = (
                StoredReport.objects.select_for_update()
                .filter(study=self.study, key=self.key, content__state=queries.ORDERED)
                .first()
            )
            if report is not None:
                report.content = {**report.content, "part": section, "parts_begun": self.parts}
                report.save(update_fields=["content"])


def order_report(
    *,
    study: Study,
    standard: ReferenceStandard,
    options: Options,
    actor: User,
    selection: Selection | None = None,
) -> StoredReport:
    """Note that a report is wanted and wake a worker; one that is there already is returned as it is."""
    with transaction.atomic():
        standing = queries.standing_of(study, standard, options, selection)
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
                TASK,
                args=[
                    standard.pk,
                    options.resamples,
                    options.seed,
                    options.convention,
                    actor.pk,
                    (selection or Selection()).parts,
                ],
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
