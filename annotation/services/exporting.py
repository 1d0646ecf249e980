"""Handing out the labels of a study as a file; each time is told in the audit trail."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from django.db import transaction

from annotation import blindness
from annotation.exports.columns import LABEL_COLUMNS
from annotation.exports.labels import Row, label_rows, labels_for_export
from annotation.exports.streams import FORMATS, Format
from annotation.models import Label, Study
from core import audit
from core.errors import Conflict, UserError
from core.models import User

ALL = "all"
ARMS = (*Label.Arm.values, ALL)


class StillBlind(Conflict):
    """The person must not know the labels yet; `reasons` say why."""

    def __init__(self, reasons: list[str]) -> None:
        self.reasons = reasons
        super().__init__(" ".join(reasons))


@dataclass(frozen=True)
class Exported:
    """A file that was written."""

    path: str
    format: str
    arm: str
    rows: int
    sha256: str
    bytes: int


def stream_labels(*, study: Study, format: str, arm: str, actor: User) -> Iterator[bytes]:
    """Return the file in pieces, having recorded that the person takes it.

    Raises StillBlind for a person who must not know the labels yet, UserError for an unknown format or arm.
    """
    chosen, which = _chosen(format, arm)
    reasons = blindness.why_not_all_labels(study, actor)
    if reasons:
        raise StillBlind(reasons)
    with transaction.atomic():
        audit.record(
            scope=study.slug,
            actor=actor,
            action="labels exported",
            subject=f"study {study.slug}",
            payload={
                "format": chosen.name,
                "arm": arm,
                "rows": labels_for_export(study, arm=which).count(),
                "by": "download",
            },
        )
    return chosen.stream(label_rows(study, arm=which), LABEL_COLUMNS)


def export_labels(
    *,
    study: Study,
    format: str,
    arm: str,
    path: str | Path,
    checks: bool = False,
    actor: User | None = None,
) -> Exported:
    """Write the labels to a file: beside it first, then in its place, so that nobody meets half of one.

    For the command line, whose user reads the database anyway. With `checks` the labels on hidden check items
    are exported, and they alone. Raises UserError for an unknown format or arm,
    or a file that cannot be written.
    """
    chosen, which = _chosen(format, arm)
    target = Path(path)
    count = 0

    def counted() -> Iterator[Row]:
        nonlocal count
        for row in label_rows(study, arm=which, checks=checks):
            count += 1
            yield row

    digest, size = hashlib.sha256(), 0
    with transaction.atomic(), _replacing(target) as file:
        for piece in chosen.stream(counted(), LABEL_COLUMNS):
            file.write(piece)
            digest.update(piece)
            size += len(piece)
        exported = Exported(str(target), chosen.name, arm, count, digest.hexdigest(), size)
        audit.record(
            scope=study.slug,
            actor=actor,
            action="labels exported",
            subject=target.name[:200],
            payload={
                "format": chosen.name,
                "arm": arm,
                "rows": count,
                "checks": checks,
                "sha256": exported.sha256,
                "by": "command line",
            },
        )
    return exported


def file_name(*, study: Study, format: str, arm: str) -> str:
    """Return what a download is called."""
    return f"{study.slug}-labels-{arm}{FORMATS[format].suffix}"


def _chosen(format: str, arm: str) -> tuple[Format, str | None]:
    if format not in FORMATS:
        raise UserError(f'no format is called "{format}"; there are: {", ".join(FORMATS)}')
    if arm not in ARMS:
        raise UserError(f'no arm is called "{arm}"; there are: {", ".join(ARMS)}')
    return FORMATS[format], None if arm == ALL else arm


@contextlib.contextmanager
def _replacing(target: Path) -> Iterator[IO[bytes]]:
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise UserError(f"{target} cannot be written: {error.strerror}") from error
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        draft.chmod(0o644)
        draft.replace(target)
    except OSError as error:
        raise UserError(f"{target} cannot be written: {error.strerror}") from error
    finally:
        draft.unlink(missing_ok=True)
