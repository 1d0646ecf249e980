"""import_checks: worked examples, gate items and hidden items, and the marks of the gate."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from annotation.access import study_named
from annotation.imports.checks import import_checks
from annotation.services.training import set_plan
from annotation.training import plan_of
from core.errors import ImportRefused
from core.management.base import FalsestepCommand, count


class Command(FalsestepCommand):
    help = "Set traces of a study apart for training: worked examples, the gate, hidden items."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="JSON Lines, CSV or Parquet; see docs/formats.md")
        parser.add_argument("--study", required=True, metavar="SLUG")
        parser.add_argument("--answer-mark", type=int, metavar="PERCENT", help="right final answers to pass")
        parser.add_argument(
            "--step-mark", type=int, metavar="PERCENT", help="right first false steps to pass"
        )
        parser.add_argument("--attempts", type=int, metavar="N", help="how often the gate may be tried")
        parser.add_argument(
            "--replace", action="store_true", help="let new values take the place of unjudged items'"
        )
        parser.add_argument("--dry-run", action="store_true", help="say what would happen, write nothing")
        parser.add_argument("--json", metavar="FILE", help="write the report as JSON (- is standard output)")

    def run(self, **options: Any) -> None:
        study = study_named(options["study"])
        report = import_checks(
            path=options["file"],
            study_slug=study.slug,
            replace=options["replace"],
            dry_run=options["dry_run"],
        )
        plan = plan_of(study)
        given = {name: options[name] for name in ("answer_mark", "step_mark", "attempts")}
        if not report.dry_run and any(value is not None for value in given.values()):
            values = {name: getattr(plan, name) if value is None else value for name, value in given.items()}
            plan = set_plan(study=study, **values)
        if options["json"] != "-":
            if report.dry_run:
                self.say("dry run: nothing is written")
            kinds = ", ".join(f"{number} {kind}" for kind, number in sorted(report.new.items())) or "none"
            self.say(
                f"check items new: {kinds}; replaced {report.replaced}; skipped {report.same}; "
                f"conflicting {report.conflicting}; malformed {len(report.bad) - report.conflicting}"
            )
            self.say(
                f"the gate: {plan.answer_mark}% of final answers and {plan.step_mark}% of steps right, "
                f"{count(plan.attempts, 'attempt')}"
            )
        self.write_json(options["json"], report.as_json())
        if report.bad:
            raise ImportRefused(report.file, report.bad)
