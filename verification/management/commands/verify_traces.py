"""verify_traces: run the checks of layer 1 on a study's traces."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.core.management.base import CommandParser

from annotation.access import study_named
from annotation.models import Trace
from core.management.base import FalsestepCommand, count
from verification.models import CheckResult
from verification.queries import unresolved_traces
from verification.services.checks import run_checks


class Command(FalsestepCommand):
    help = "Run the checks of code and rules on every trace of a study, and say how they ended."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--study", required=True, help="slug of a study")
        parser.add_argument("--json", metavar="FILE", help="write the counts as JSON (- is standard output)")

    def run(self, **options: Any) -> None:
        study = study_named(options["study"])
        traces = (
            Trace.objects.filter(study=study, check_item__isnull=True)
            .select_related("question", "study")
            .order_by("pk")
        )
        number = run_checks(traces=traces.iterator(chunk_size=100))
        rows = CheckResult.objects.filter(trace__study=study).values_list("column", "name", "status")
        counts = Counter(rows)
        waiting = len(unresolved_traces(study))
        if options["json"] != "-":
            self.say(f"checked: {count(number, 'trace')}")
            for (column, name, status), total in sorted(counts.items()):
                self.say(f"{column}: {name}: {status} {total}")
            self.say(f"in the experts' queue, their labels unresolved: {count(waiting, 'trace')}")
        self.write_json(
            options["json"],
            {
                "study": study.slug,
                "traces": number,
                "checks": [
                    {"column": column, "name": name, "status": status, "traces": total}
                    for (column, name, status), total in sorted(counts.items())
                ],
                "queued": waiting,
            },
        )
