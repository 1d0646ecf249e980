"""raise_concerns: have models point at concerns in traces (layer 2 of verification)."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from annotation.access import study_named
from core.errors import UserError
from core.management.base import FalsestepCommand, count
from monitoring.concerns.ordering import order_concerns
from monitoring.concerns.raising import ConcernsReport, raise_concerns, traces_to_read
from monitoring.engine.planning import monitors_named
from monitoring.management.arguments import amount, words


class Command(FalsestepCommand):
    help = (
        "Ask models for concerns about traces: each is stored as a flag tied to a step, a tool call or a value, and "
        "is no verdict. What was answered before is not paid for again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--study", required=True, metavar="SLUG")
        parser.add_argument("--monitors", required=True, type=words, metavar="A,B")
        parser.add_argument("--traces", type=words, metavar="Q/LABEL,...", help="all with a text")
        parser.add_argument("--max-cost", type=amount, metavar="USD", help="the most that may be spent")
        parser.add_argument(
            "--wait", action="store_true", help="do it here, instead of handing it to a worker"
        )
        parser.add_argument("--json", metavar="FILE", help="what was done, with --wait (- for stdout)")

    def run(self, **options: Any) -> None:
        study = study_named(options["study"])
        names, keys, most = options["monitors"], options["traces"], options["max_cost"]
        if not options["wait"]:
            number = order_concerns(study=study, names=names, keys=keys, max_cost=most, actor=None)
            self.say(f"{count(number, 'trace')} to read; a worker does it")
            return
        report = raise_concerns(
            study=study,
            monitors=monitors_named(study, names),
            traces=traces_to_read(study, keys),
            max_cost=most,
            actor=None,
        )
        if options["json"] != "-":
            self._show(report)
        self.write_json(options["json"], report.as_json())
        if report.stopped or report.failed:
            raise UserError(
                report.stopped or f"{count(len(report.failed), 'reading')} failed; run the command again"
            )

    def _show(self, report: ConcernsReport) -> None:
        self.say(
            f"{count(report.traces, 'trace')}, {count(report.read, 'reading')}: {count(report.flags, 'new flag')}, "
            f"{report.cost.normalize():f} USD spent"
        )
        for what, rows in (("dropped", report.dropped), ("failed", report.failed)):
            for trace, slug, reason in rows:
                self.say(f"  {what}: {trace} by {slug}: {reason}")
