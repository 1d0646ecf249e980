"""export_release: a text-free release of a study, with its manifest."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from annotation.access import study_named
from core.management.base import FalsestepCommand, count
from monitoring.exports.release import export_release
from monitoring.report.queries import standard_for


class Command(FalsestepCommand):
    help = "Write a text-free release: the standard and the verdicts, no text of question, answer or reply."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", help="an empty folder, or one with an earlier release; made if need be")
        parser.add_argument("--study", required=True, metavar="SLUG")
        parser.add_argument("--standard", type=int, metavar="N", help="version (default: the newest)")
        parser.add_argument("--json", metavar="FILE", help="write the report as JSON (- is standard output)")

    def run(self, **options: Any) -> None:
        study = study_named(options["study"])
        standard = standard_for(study, options["standard"])
        told = export_release(study=study, standard=standard, path=options["folder"])
        if options["json"] != "-":
            traces = ", ".join(f"{number} {status}" for status, number in sorted(told.traces.items()))
            self.say(f"standard {told.standard}: {traces}")
            for name, rows in sorted(told.files.items()):
                self.say(f"  {rows:>7} rows  {name}")
            if told.unfinished:
                self.say(f"unfinished runs left out: {', '.join(told.unfinished)}")
            if told.off_cell:
                self.say(
                    f"left out: {count(told.off_cell, 'certificate verdict')} on traces that this standard "
                    "puts into another cell"
                )
            self.say(f"{told.folder}/public_manifest.json, sha256 {told.manifest_sha256}")
        self.write_json(options["json"], told.as_json())
