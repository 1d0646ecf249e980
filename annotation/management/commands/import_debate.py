"""import_debate: the five rounds of the debate arm, for traces that are here."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from annotation.imports.debates import import_debates
from core.errors import ImportRefused
from core.management.base import FalsestepCommand, count


class Command(FalsestepCommand):
    help = "Import the rounds of debates, and the debate arm's labels from their consensus: all or nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="JSON Lines, or one JSON array; see docs/formats.md")
        parser.add_argument("--study", required=True, help="slug of a study")
        parser.add_argument("--dry-run", action="store_true", help="say what would happen, write nothing")
        parser.add_argument("--json", metavar="FILE", help="write the report as JSON (- is standard output)")

    def run(self, **options: Any) -> None:
        report = import_debates(path=options["file"], study_slug=options["study"], dry_run=options["dry_run"])
        if options["json"] != "-":
            if report.dry_run:
                self.say("dry run: nothing is written")
            new = ", ".join(f"{name} {n}" for name, n in sorted(report.rounds.items()))
            self.say(
                f"new rounds: {new}" if new else f"nothing new: {count(report.same_rounds, 'round')} here"
            )
            self.say(f"labels of the debate arm: {report.labels} new, {report.same_labels} already here")
            if report.unsettled:
                self.say(f"without a verdict of the consensus: {count(report.unsettled, 'trace')}")
            if report.cost:
                self.say(f"what the new rounds cost: {report.cost.normalize():f} USD")
        self.write_json(options["json"], report.as_json())
        if report.bad:
            raise ImportRefused(report.file, report.bad)
