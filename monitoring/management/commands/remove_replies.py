"""`manage.py remove_replies`: the retention rule of a study, set and carried out."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from annotation.access import study_named
from core.errors import UserError
from core.management.base import FalsestepCommand, count
from monitoring.retention import keep_replies, remove_replies


class Command(FalsestepCommand):
    help = (
        "Remove the texts of models' replies that are older than the study keeps them; verdicts, hashes and usage "
        "stay, and the audit trail tells of it. --keep-days sets the rule first. A worker's clock does the same "
        "every six hours. Replies that are removed cannot be read anew."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--study", required=True, metavar="SLUG")
        rule = parser.add_mutually_exclusive_group()
        rule.add_argument("--keep-days", type=int, metavar="N", help="set the rule: keep replies for N days")
        rule.add_argument("--keep-all", action="store_true", help="set the rule: keep replies for good")
        parser.add_argument("--dry-run", action="store_true", help="say how many are due; change nothing")
        parser.add_argument(
            "--json", metavar="FILE", help="write what was done as JSON (- is standard output)"
        )

    def run(self, **options: Any) -> None:
        study = study_named(options["study"])
        if options["dry_run"] and (options["keep_days"] is not None or options["keep_all"]):
            raise UserError("--dry-run changes nothing: set the rule without it")
        if options["keep_days"] is not None or options["keep_all"]:
            keep_replies(study=study, days=options["keep_days"], actor=None)
        told = remove_replies(study=study, actor=None, dry_run=options["dry_run"])
        if options["json"] != "-":
            if study.keep_replies_days is None:
                self.say(f"{study.slug} keeps replies for good")
            else:
                verb = "are due" if options["dry_run"] else "removed"
                self.say(
                    f"{study.slug} keeps replies for {count(study.keep_replies_days, 'day')}: "
                    f"{told.attempts} of batches and {told.inquiries} of the debate and of generation {verb}"
                )
        self.write_json(
            options["json"],
            {
                "keep_days": study.keep_replies_days,
                "attempts": told.attempts,
                "inquiries": told.inquiries,
                "dry_run": options["dry_run"],
            },
        )
