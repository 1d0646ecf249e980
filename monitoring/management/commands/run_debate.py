"""Run the debate arm: five rounds between two models on each trace."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.core.management.base import CommandParser

from annotation.access import study_named
from annotation.models import Study
from core.errors import UserError
from core.management.base import FalsestepCommand, count
from monitoring import tasks
from monitoring.debate.arm import DebateReport, Debaters, run_debate, traces_to_debate
from monitoring.engine.planning import monitors_named
from monitoring.management.arguments import amount, words
from monitoring.models import Monitor


class Command(FalsestepCommand):
    help = (
        "Debate traces in five rounds (R1, R2, R3 where disputed, a blind reading, a consensus) and store each "
        "consensus as a label of the debate arm. What was stored before is not paid for again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--study", required=True, metavar="SLUG")
        parser.add_argument("--first", default="debate-first", metavar="SLUG", help="speaks in R1 and R3")
        parser.add_argument("--second", default="debate-second", metavar="SLUG", help="R2 and blind reading")
        parser.add_argument("--judge", metavar="SLUG", help="the consensus (the first)")
        parser.add_argument("--traces", type=words, metavar="Q/LABEL,...", help="all without a consensus")
        parser.add_argument("--max-cost", type=amount, metavar="USD", help="the most that may be spent")
        parser.add_argument(
            "--wait", action="store_true", help="do it here, instead of handing it to a worker"
        )
        parser.add_argument("--json", metavar="FILE", help="what was done, with --wait (- for stdout)")

    def run(self, **options: Any) -> None:
        study = study_named(options["study"])
        judge = options["judge"] or options["first"]
        names = {"first": options["first"], "second": options["second"], "judge": judge}
        debaters = Debaters(**{role: _model(study, slug, role) for role, slug in names.items()})
        traces = traces_to_debate(study, options["traces"])
        if not options["wait"]:
            tasks.debate.delay(study.slug, names, options["traces"], _text(options["max_cost"]))
            self.say(f"{count(len(traces), 'trace')} to debate; a worker does it")
            return
        report = run_debate(
            study=study, debaters=debaters, traces=traces, max_cost=options["max_cost"], actor=None
        )
        if options["json"] != "-":
            self._show(report)
        self.write_json(options["json"], report.as_json())
        if report.stopped or report.failed:
            raise UserError(
                report.stopped or f"{len(report.failed)} traces have no consensus yet; run it again"
            )

    def _show(self, report: DebateReport) -> None:
        rounds = ", ".join(f"{name} {number}" for name, number in sorted(report.rounds.items()))
        self.say(f"{count(report.traces, 'trace')}: {rounds or 'no new round'}")
        self.say(
            f"{count(report.labels, 'label')} of the debate arm, {report.to_people} left to people, "
            f"{report.cost.normalize():f} USD spent"
        )
        for trace, reason in report.failed:
            self.say(f"  {trace}: {reason}")


def _model(study: Study, slug: str, role: str) -> Monitor:
    try:
        monitor = monitors_named(study, [slug])[0]
    except UserError as error:
        raise UserError(f"who speaks as {role} (--{role})? {error}; add_monitor makes one") from error
    if monitor.is_offline and monitor.provider != Monitor.Provider.SCRIPTED:
        raise UserError(f"{slug} is not a model that can be asked")
    return monitor


def _text(cost: Decimal | None) -> str | None:
    return None if cost is None else str(cost)
