"""Generate traces: one numbered, boxed solution per question and model."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from annotation.access import study_named
from core.errors import UserError
from core.management.base import FalsestepCommand, count
from monitoring import tasks
from monitoring.engine.planning import monitors_named
from monitoring.generation import generate_traces
from monitoring.management.arguments import amount, words
from monitoring.models import Monitor


class Command(FalsestepCommand):
    help = (
        "Ask each model for a solution of each included question, in numbered steps with a boxed answer, and store "
        "it as a trace. What cannot be cut into steps is asked for once more, then listed."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--study", required=True, metavar="SLUG")
        parser.add_argument("--monitors", required=True, type=words, metavar="A,B", help="who generates")
        parser.add_argument("--max-cost", type=amount, metavar="USD", help="the most that may be spent")
        parser.add_argument(
            "--wait", action="store_true", help="do it here, instead of handing it to a worker"
        )
        parser.add_argument("--json", metavar="FILE", help="what was done, with --wait (- for stdout)")

    def run(self, **options: Any) -> None:
        study = study_named(options["study"])
        monitors = monitors_named(study, options["monitors"])
        for monitor in monitors:
            if monitor.is_offline and monitor.provider != Monitor.Provider.SCRIPTED:
                raise UserError(f"{monitor.slug} is not a model that can be asked")
        if not options["wait"]:
            cost = None if options["max_cost"] is None else str(options["max_cost"])
            tasks.generate.delay(study.slug, options["monitors"], cost)
            self.say("a worker generates the traces")
            return
        report = generate_traces(study=study, monitors=monitors, max_cost=options["max_cost"], actor=None)
        if options["json"] != "-":
            self.say(
                f"{count(report.questions, 'question')}: {count(report.made, 'new trace')}, "
                f"{report.there} there already, "
                f"{report.cost.normalize():f} USD spent"
            )
            for question, model, reason in report.failed:
                self.say(f"  {question} by {model}: {reason}")
        self.write_json(options["json"], report.as_json())
        if report.stopped or report.failed:
            raise UserError(
                report.stopped or f"{len(report.failed)} solutions could not be had; run it again"
            )
