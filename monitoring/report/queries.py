"""Reads of standards and stored reports. Nothing here writes or computes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from adjudication.models import ReferenceStandard
from annotation.models import Study
from core.errors import UserError
from monitoring.models import StoredReport
from monitoring.report.build import report_key
from monitoring.report.selection import Selection
from monitoring.report.source import chosen_runs, fingerprint
from stats.report import Options

READY = "ready"
ORDERED = "ordered"
FAILED = "failed"


def standard_for(study: Study, version: int | None = None) -> ReferenceStandard:
    """Return a standard of a study by its version, the newest by default; UserError says which there are."""
    standards = {standard.version: standard for standard in study.standards.order_by("version")}
    if not standards:
        raise UserError(
            f'study "{study.slug}" has no reference standard yet; freeze one with freeze_standard, '
            "or import a release"
        )
    wanted = max(standards) if version is None else version
    if wanted not in standards:
        known = ", ".join(map(str, standards))
        raise UserError(f'study "{study.slug}" has no standard {wanted}; there are: {known}')
    return standards[wanted]


def is_ready(report: StoredReport) -> bool:
    """Whether a stored report holds its numbers, rather than the order to compute them."""
    return bool(report.content.get("state") == READY)


def document_of(report: StoredReport) -> dict[str, Any]:
    """Return the document of a report that is ready.

    It is kept as text: PostgreSQL would put the keys of a JSON value in another order.
    """
    document: dict[str, Any] = json.loads(report.content["document"])
    return document


def selection_text(selection: Selection | None) -> str:
    """Return a selection as the text under which its reports are found again; empty for everything."""
    parts = (selection or Selection()).parts
    return json.dumps(parts, sort_keys=True, ensure_ascii=False) if parts else ""


@dataclass(frozen=True)
class Standing:
    """What is stored for a standard: the report of what is there now, and else the newest older one."""

    key: str
    has_verdicts: bool
    current: StoredReport | None
    older: StoredReport | None

    @property
    def ready(self) -> StoredReport | None:
        """The report to show: the current one, or an older one while that is being computed."""
        return self.current if self.current is not None and is_ready(self.current) else self.older

    @property
    def pending(self) -> StoredReport | None:
        """The order that no worker has carried out yet, or that failed."""
        return self.current if self.current is not None and not is_ready(self.current) else None


def standing_of(
    study: Study, standard: ReferenceStandard, options: Options, selection: Selection | None = None
) -> Standing:
    """Return what is stored for a standard (or the selected part of it) under these options."""
    runs = chosen_runs(study)
    key = report_key(standard, fingerprint(study, runs), options, selection)
    stored = StoredReport.objects.filter(study=study, standard=standard).order_by("-created_at", "-pk")
    older = (
        stored.exclude(key=key)
        .filter(
            content__state=READY,
            content__convention=options.convention,
            content__selection=selection_text(selection),
        )
        .first()
    )
    return Standing(key, bool(runs), stored.filter(key=key).first(), older)
