"""Launch a batch of monitors under conditions on a frozen standard."""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.access import study_named
from core.errors import UserError
from core.management.base import FalsestepCommand, count
from monitoring import queries
from monitoring.engine import planning, supervise
from monitoring.engine.launch import launch_batch, refuse_if_unfit
from monitoring.engine.options import (
    MOST_INVALID_RETRIES,
    PROVIDER_BATCHES,
    RCTRL_TRACES,
    REQUESTS,
    STEP_PREFIXES,
    BatchOptions,
)
from monitoring.management.arguments import amount, words
from monitoring.models import Batch


class Command(FalsestepCommand):
    help = (
        "Launch a batch: each monitor under each condition, on a frozen reference standard. The built-in "
        "offline monitors rules, always, never, oracle and random are made in the study when first named."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--study", required=True, metavar="SLUG")
        parser.add_argument("--monitors", required=True, type=words, metavar="A,B", help="slugs of monitors")
        parser.add_argument("--conditions", required=True, type=words, metavar="BLIND,CERT,...")
        parser.add_argument("--standard", type=int, metavar="N", help="version of the standard (the latest)")
        parser.add_argument(
            "--step-prefixes",
            choices=STEP_PREFIXES,
            default="all",
            help="STEP asks about every step (all), or in turn until the first flag (first_flag)",
        )
        parser.add_argument(
            "--rctrl-traces",
            choices=RCTRL_TRACES,
            default="answer_correct",
            help="RCTRL runs on traces whose final answer is right (answer_correct), or on all",
        )
        parser.add_argument(
            "--invalid-retries",
            type=int,
            choices=range(MOST_INVALID_RETRIES + 1),
            default=0,
            help="how often a call is made again whose reply holds no verdict; each time is paid (0)",
        )
        parser.add_argument(
            "--allow-debaters",
            action="store_true",
            help="also models that took part in the study's debate; their runs are marked",
        )
        parser.add_argument(
            "--via",
            choices=(REQUESTS, PROVIDER_BATCHES),
            default=REQUESTS,
            help="ask calls one by one, or through the provider's batch API, which answers within a day",
        )
        parser.add_argument("--max-cost", type=amount, metavar="USD", help="the most that may be spent")
        parser.add_argument("--dry-run", action="store_true", help="show the plan; write nothing")
        parser.add_argument("--wait", action="store_true", help="until the end, with a worker if none runs")
        parser.add_argument("--timeout", type=_seconds, default=3600.0, metavar="S", help="3600")
        parser.add_argument("--json", metavar="FILE", help="the plan, or the batch (- for stdout)")

    def run(self, **options: Any) -> None:
        _refuse_unwritable(options["json"])
        study = study_named(options["study"])
        conditions = planning.conditions_named(options["conditions"])
        monitors = planning.monitors_named(study, options["monitors"])
        standard = planning.standard_named(study, options["standard"])
        chosen = BatchOptions(
            step_prefixes=options["step_prefixes"],
            rctrl_traces=options["rctrl_traces"],
            invalid_retries=options["invalid_retries"],
            allow_debaters=options["allow_debaters"],
            via=options["via"],
        )
        quiet = options["json"] == "-"
        if options["dry_run"]:
            plan = planning.plan_batch(
                study=study, standard=standard, monitors=monitors, conditions=conditions, options=chosen
            )
            if not quiet:
                self._show_plan(plan)
            self.write_json(options["json"], queries.plan_content(plan))
            refuse_if_unfit(plan, max_cost=options["max_cost"])
            return
        batch = launch_batch(
            study=study,
            standard=standard,
            monitors=monitors,
            conditions=conditions,
            max_cost=options["max_cost"],
            actor=None,
            options=chosen,
        )
        if not quiet:
            calls = supervise.counts(batch)[1]
            self.say(f"batch {batch.number} launched on standard {standard.version}: {count(calls, 'call')}")
        if options["wait"]:
            batch = self._wait(batch, timeout=options["timeout"], quiet=quiet)
        self.write_json(options["json"], queries.batch_content(batch))

    def _show_plan(self, plan: planning.Plan) -> None:
        self.say(f"plan on standard {plan.standard.version} of {plan.study.slug}; nothing is written")
        for run in plan.runs:
            cost = "no price known" if run.cost is None else f"at most {run.cost.normalize():f} USD"
            self.say(
                f"  {run.monitor.slug:<24} {run.condition:<9} "
                f"{count(run.traces, 'trace'):>14} {count(run.calls, 'call'):>14}  {cost}"
            )
            for reason, number in sorted(run.excluded.items()):
                self.say(f"  {'':<24} {'':<9} {number:>7} left out: {reason}")
            for one in run.untaken:
                self.say(f"  {'':<34} {one.question_id}/{one.response_label}: no answer taken ({one.path})")
        for status, number in sorted(plan.not_ready.items()):
            self.say(f"  of the standard, {count(number, 'trace')}: {status}")

    def _wait(self, batch: Batch, *, timeout: float, quiet: bool) -> Batch:
        begun = time.monotonic()
        told = [0.0]

        def tell(done: int, total: int) -> None:
            if not quiet and (time.monotonic() - told[0] > 5 or done == total):
                told[0] = time.monotonic()
                self.say(f"  {done} of {count(total, 'call')}")
                self.stdout.flush()

        batch = supervise.wait_for(batch, timeout=timeout, tell=tell)
        if not quiet:
            seconds = time.monotonic() - begun
            self.say(
                f"batch {batch.number} finished in {seconds:.1f} s, {batch.spent.normalize():f} USD spent"
            )
            for run in queries.batch_content(batch)["runs"]:
                outcomes = ", ".join(f"{name} {number}" for name, number in run["outcomes"].items())
                self.say(f"  {run['monitor']:<24} {run['condition']:<9} {outcomes}")
        return batch


def _refuse_unwritable(path: str | None) -> None:
    """Find out before anything is launched and paid for, not after it."""
    if path and path != "-":
        file = Path(path)
        if file.is_dir() or not os.access(file if file.exists() else file.parent, os.W_OK):
            raise UserError(f"{path} cannot be written")


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds") from error
    if not 0 < seconds < 1e7:
        raise argparse.ArgumentTypeError(f"a time is more than 0 seconds, not {text}")
    return seconds
