"""export_labels: every label of a study in one file, one row a revision."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from annotation.access import study_named
from annotation.exports.streams import FORMATS
from annotation.services.exporting import ALL, ARMS, export_labels
from core.management.base import FalsestepCommand, count


class Command(FalsestepCommand):
    help = "Export the labels of a study: one row for each trace, labeller and revision, with every field."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--study", required=True, metavar="SLUG")
        parser.add_argument("--format", required=True, choices=list(FORMATS))
        parser.add_argument("--out", required=True, metavar="FILE", help="replaced if it is there")
        parser.add_argument("--arm", choices=ARMS, default=ALL)
        parser.add_argument(
            "--checks", action="store_true", help="the labels on hidden check items, which are else left out"
        )
        parser.add_argument("--json", metavar="FILE", help="write what was exported (- is standard output)")

    def run(self, **options: Any) -> None:
        exported = export_labels(
            study=study_named(options["study"]),
            format=options["format"],
            arm=options["arm"],
            path=options["out"],
            checks=options["checks"],
        )
        if options["json"] != "-":
            self.say(f"{count(exported.rows, 'row')} in {exported.path} (sha256 {exported.sha256[:12]}...)")
        self.write_json(options["json"], asdict(exported))
