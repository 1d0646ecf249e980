"""`manage.py rebuild_progress`: check or mend the counts by which the queue works."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from annotation.access import study_named
from annotation.services import tally
from core.errors import UserError
from core.management.base import FalsestepCommand, count

SHOWN = 20


class Command(FalsestepCommand):
    help = (
        "Count a study's traces and labels anew for its queue; with --check only say which counts are wrong."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--study", required=True, metavar="SLUG")
        parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if a count is wrong")
        parser.add_argument(
            "--json", metavar="FILE", help="write the findings as JSON (- for standard output)"
        )

    def run(self, **options: Any) -> None:
        study = study_named(options["study"])
        wrong = tally.verify(study)
        if not options["check"]:
            tally.refresh(study)
        for line in wrong[:SHOWN]:
            self.say(line)
        if len(wrong) > SHOWN:
            self.say(f"and {len(wrong) - SHOWN} more")
        self.write_json(
            options["json"], {"study": study.slug, "wrong": wrong, "mended": not options["check"]}
        )
        if options["check"] and wrong:
            raise UserError(f"{count(len(wrong), 'count')} wrong; without --check this command mends them")
        self.say("all counts are right" if not wrong else f"{count(len(wrong), 'count')} mended")
