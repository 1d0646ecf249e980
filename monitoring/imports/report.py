"""What an import of a release did."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass
class ReleaseReport:
    """What an import of a release did, or would do."""

    folder: str
    study: str
    dry_run: bool
    manifest_sha256: str = ""
    study_made: bool = False
    standard: int | None = None
    standard_new: bool = False
    standard_sha256: str = ""
    batch: int | None = None
    traces: Counter[str] = field(default_factory=Counter)
    new: Counter[str] = field(default_factory=Counter)
    files: list[dict[str, Any]] = field(default_factory=list)
    left_alone: tuple[str, ...] = ()
    not_read: list[str] = field(default_factory=list)
    fields_left_out: Counter[str] = field(default_factory=Counter)

    def total(self, name: str) -> int:
        """Return a count summed over the verdict files."""
        return sum(int(file[name]) for file in self.files)

    def as_json(self) -> dict[str, Any]:
        """Return the report as plain JSON."""
        names = ("rows", "repeats_dropped", "verdicts", "outside_the_ready_set")
        return {
            "folder": self.folder,
            "study": self.study,
            "dry_run": self.dry_run,
            "manifest_sha256": self.manifest_sha256,
            "standard": {
                "version": self.standard,
                "new": self.standard_new,
                "sha256": self.standard_sha256,
                "traces": dict(self.traces),
            },
            "batch": self.batch,
            "new": dict(self.new),
            "verdicts": {**{name: self.total(name) for name in names}, "files": self.files},
            "left_alone": list(self.left_alone),
            "not_read": self.not_read,
            "fields_left_out": dict(self.fields_left_out),
        }
