"""Import verdicts that were made elsewhere, from a CSV file."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from annotation.access import study_named
from core.management.base import FalsestepCommand
from monitoring.engine.planning import standard_named
from monitoring.imports.verdicts_csv import OPTIONAL, REQUIRED, import_verdicts


class Command(FalsestepCommand):
    help = (
        f"Import verdicts made elsewhere as a finished batch. Columns: {', '.join(REQUIRED)}; optional: "
        f"{', '.join(OPTIONAL)}. The same file twice changes nothing; bad rows stop all of it."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="a CSV file, UTF-8, with the columns named on its first line")
        parser.add_argument("--study", required=True, metavar="SLUG")
        parser.add_argument("--standard", type=int, metavar="N", help="version of the standard (the latest)")
        parser.add_argument("--dry-run", action="store_true", help="list bad rows; write nothing")
        parser.add_argument("--json", metavar="FILE", help="what was imported (- for stdout)")

    def run(self, **options: Any) -> None:
        study = study_named(options["study"])
        report = import_verdicts(
            path=options["file"],
            study=study,
            standard=standard_named(study, options["standard"]),
            dry_run=options["dry_run"],
            actor=None,
        )
        if options["json"] != "-":
            if report.unchanged:
                self.say(f"nothing new: the file was imported as batch {report.batch}")
            else:
                where = "dry run: nothing is written" if report.batch is None else f"batch {report.batch}"
                self.say(f"{where}: {report.rows} rows, {len(report.bad)} bad")
            for name, number in sorted(report.runs.items()):
                self.say(f"  {name}: {number} verdicts")
            for row in report.bad[:50]:
                self.say(f"  {report.file}:{row.line}: {row.reason}")
        self.write_json(options["json"], report.as_json())
