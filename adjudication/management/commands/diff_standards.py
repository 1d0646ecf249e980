"""Show what two reference standards of a study say differently."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from adjudication.services.diffs import diff_standards
from adjudication.services.standards import standard_numbered
from annotation.access import study_named
from core.management.base import FalsestepCommand


class Command(FalsestepCommand):
    help = "Show what two reference standards of a study say differently, label by label."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--study", required=True, metavar="SLUG")
        parser.add_argument("old", type=int, metavar="N", help="version to start from")
        parser.add_argument("new", type=int, metavar="M", help="version to compare with it")
        parser.add_argument("--json", metavar="FILE", help="write the differences as JSON (- is stdout)")

    def run(self, **options: Any) -> None:
        study = study_named(options["study"])
        old, new = (standard_numbered(study, options[name]) for name in ("old", "new"))
        changed = diff_standards(old, new)
        if options["json"] != "-":
            traces = len({(change.question_id, change.response_label) for change in changed})
            labels = "label" if traces == 1 else "labels"
            self.say(f"standard {new.version} differs from {old.version} in {traces} {labels}")
            for change in changed:
                self.say(f"  {change}")
        self.write_json(options["json"], {"changed": [change.as_json() for change in changed]})
