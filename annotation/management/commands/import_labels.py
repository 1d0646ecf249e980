"""import_labels: labels of the human or the debate arm for traces that are here."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from annotation.imports.labels import ARMS, AUTO, FORMATS, LabelsReport, import_labels
from core.errors import ImportRefused
from core.management.base import FalsestepCommand, count


class Command(FalsestepCommand):
    help = "Import labels of one arm: all of a file or nothing of it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="JSON Lines, CSV or Parquet; see docs/formats.md")
        parser.add_argument("--study", required=True, help="slug of a study")
        parser.add_argument("--arm", required=True, choices=ARMS, help="all: each row names its arm")
        parser.add_argument("--format", choices=FORMATS, default=AUTO)
        parser.add_argument(
            "--labeller",
            default="",
            help="whose labels a file of the annotation tool holds; else its name tells",
        )
        parser.add_argument(
            "--revise", action="store_true", help="let labels that differ supersede those that are here"
        )
        parser.add_argument("--dry-run", action="store_true", help="say what would happen, write nothing")
        parser.add_argument("--json", metavar="FILE", help="write the report as JSON (- is standard output)")

    def run(self, **options: Any) -> None:
        report = import_labels(
            path=options["file"],
            study_slug=options["study"],
            arm=options["arm"],
            format=options["format"],
            labeller=options["labeller"],
            revise=options["revise"],
            dry_run=options["dry_run"],
        )
        if options["json"] != "-":
            self.say("\n".join(summary(report)))
        self.write_json(options["json"], report.as_json())
        if report.bad:
            raise ImportRefused(report.file, report.bad)


def summary(report: LabelsReport) -> list[str]:
    """Return what an import did, in lines for a person."""
    lines = ["dry run: nothing is written"] if report.dry_run else []
    if report.new or report.revised or report.key_reports or report.bad:
        whose = "both arms" if report.arm == "all" else f"the {report.arm} arm"
        lines.append(f"labels of {whose}: {report.new} new, {report.revised} revised")
        lines.append(f"already here: {report.same}")
    else:
        lines.append(f"nothing new: {count(report.same, 'label')} already here")
    for reason, number in report.passed_over.items():
        lines.append(f"passed over: {count(number, 'row')} ({reason})")
    if report.labellers:
        lines.append("labellers: " + ", ".join(f"{who} {n}" for who, n in sorted(report.labellers.items())))
    if report.strangers:
        lines.append("without an account in the study: " + ", ".join(sorted(report.strangers)))
    if report.key_reports or report.keys_in_comments:
        lines.append(
            f"reports of wrong keys: {report.key_reports} new, "
            f"{report.keys_in_comments} kept in comments (their labellers have no account)"
        )
    if report.guidelines_unknown:
        lines.append(
            f"{count(report.guidelines_unknown, 'label')} made under a guideline that this study does not have"
        )
    if report.dry_run:
        lines.append(
            f"new {report.new + report.revised}, skipped {report.skipped}, conflicting {report.conflicting}, "
            f"malformed {len(report.bad) - report.conflicting}"
        )
    return lines
