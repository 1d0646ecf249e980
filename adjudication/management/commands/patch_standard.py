"""Correct labels of a reference standard by making a new version."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from adjudication.services.diffs import diff_standards
from adjudication.services.patches import parse_change, patch_standard
from adjudication.services.standards import standard_numbered
from annotation.access import study_named
from core.management.base import FalsestepCommand


class Command(FalsestepCommand):
    help = "Correct labels of a reference standard by making a new version, with a reason."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--study", required=True, metavar="SLUG")
        parser.add_argument("--from", required=True, type=int, metavar="N", dest="from_version")
        parser.add_argument(
            "--set",
            required=True,
            action="append",
            metavar="QID/LABEL:FIELD=VALUE,...",
            dest="changes",
            help="fields: final_correct, first_error_step, first_error_step_min, first_error_step_max; "
            "LABEL may be the last word of the response label (A); none clears a step; may be repeated",
        )
        parser.add_argument("--reason", required=True, help="kept with the new version")
        parser.add_argument("--json", metavar="FILE", help="write what was done as JSON (- is stdout)")

    def run(self, **options: Any) -> None:
        study = study_named(options["study"])
        changes = [parse_change(text) for text in options["changes"]]
        frozen = patch_standard(
            study=study, from_version=options["from_version"], changes=changes, reason=options["reason"]
        )
        standard = frozen.standard
        changed = diff_standards(standard_numbered(study, options["from_version"]), standard)
        if options["json"] != "-":
            self.say(
                f"standard {standard.version} of {study.slug}, sha256 {standard.sha256}"
                if frozen.created
                else f"standard {standard.version} says exactly this already: no new standard"
            )
            for change in changed if frozen.created else ():
                self.say(f"  {change}")
        self.write_json(
            options["json"],
            {
                "standard": standard.version,
                "sha256": standard.sha256,
                "new": frozen.created,
                "changed": [change.as_json() for change in changed],
            },
        )
