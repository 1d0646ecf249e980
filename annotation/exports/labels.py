"""The labels of a study as rows: one for each trace, labeller and revision, read by a cursor on the server."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from django.db.models import F, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import NullIf

from annotation.models import KeyReport, Label, Study

Row = tuple[Any, ...]
CHUNK = 2000


def labels_for_export(study: Study, *, arm: str | None = None, checks: bool = False) -> QuerySet[Label]:
    """Return every label of a study, superseded ones too, of one arm or of both.

    Labels on check items count in nothing and are left out; with `checks` they alone are returned.
    """
    labels = Label.objects.filter(trace__study=study, trace__check_item__isnull=not checks)
    return labels if arm is None else labels.filter(arm=arm)


def label_rows(study: Study, *, arm: str | None = None, checks: bool = False) -> Iterator[Row]:
    """Yield the labels in the order of LABEL_COLUMNS, by trace, arm, labeller and revision.

    `key_wrong` is the person's newest report on the key of the trace's question; it stands in each of their
    rows on that question.
    """
    guidelines = {
        pk: (version, hashlib.sha256(text.encode()).hexdigest())
        for pk, version, text in study.guideline_versions.values_list("pk", "version", "text")
    }
    report = KeyReport.objects.filter(
        question=OuterRef("trace__question"), reporter=OuterRef("person")
    ).order_by("-reference_version")
    found = (
        labels_for_export(study, arm=arm, checks=checks)
        .annotate(
            key_wrong=Subquery(report.values("reason")[:1]),
            key_wrong_version=Subquery(report.values("reference_version")[:1]),
            newer=F("superseded_by"),
            # Nothing said is null in files, whether the richer form was there or not.
            said_coherence=NullIf("pilot__coherence", Value("")),
            said_error_type=NullIf("pilot__error_type", Value("")),
        )
        .order_by("trace__question__external_id", "trace__response_label", "arm", "labeller", "revision")
        .values_list(
            "trace__question__external_id",
            "trace__response_label",
            "trace__sha256",
            "arm",
            "labeller",
            "revision",
            "newer",
            "final_correct",
            "first_error_step",
            "first_error_step_min",
            "first_error_step_max",
            "comment",
            "said_coherence",
            "said_error_type",
            "key_wrong",
            "key_wrong_version",
            "guideline",
            "active_seconds",
            "source",
            "created_at",
        )
    )
    for row in found.iterator(chunk_size=CHUNK):
        version, digest = guidelines.get(row[16], (None, None))
        yield (*row[:6], row[6] is None, *row[7:16], version, digest, *row[17:])
