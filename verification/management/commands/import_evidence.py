"""import_evidence: specifications, execution records, certificates, mappings and flags."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from core.errors import ImportRefused
from core.management.base import FalsestepCommand, count
from verification.imports.evidence import EvidenceReport, import_evidence


class Command(FalsestepCommand):
    help = "Import what layered verification works on: all of a file or nothing of it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="JSON Lines, each with a kind; see docs/verification.md")
        parser.add_argument("--study", required=True, help="slug of a study")
        parser.add_argument(
            "--revise", action="store_true", help="let mappings that differ supersede those that are here"
        )
        parser.add_argument("--dry-run", action="store_true", help="say what would happen, write nothing")
        parser.add_argument("--json", metavar="FILE", help="write the report as JSON (- is standard output)")

    def run(self, **options: Any) -> None:
        report = import_evidence(
            path=options["file"],
            study_slug=options["study"],
            revise=options["revise"],
            dry_run=options["dry_run"],
        )
        if options["json"] != "-":
            self.say("\n".join(summary(report)))
        self.write_json(options["json"], report.as_json())
        if report.bad:
            raise ImportRefused(report.file, report.bad)


def summary(report: EvidenceReport) -> list[str]:
    """Return what an import did, in lines for a person."""
    lines = ["dry run: nothing is written"] if report.dry_run else []
    lines += [f"new: {count(number, kind)}" for kind, number in report.new.items()]
    lines += [f"already here: {count(number, kind)}" for kind, number in report.same.items()]
    if not report.new and not report.bad:
        lines.append("nothing new")
    return lines
