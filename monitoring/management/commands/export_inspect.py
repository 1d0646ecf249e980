"""export_inspect: a run as a log of Inspect AI, for an administrator; recorded."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.access import study_named
from core.errors import UserError
from core.management.base import FalsestepCommand, count
from core.models import User
from monitoring.exports.inspect_log import export_run
from monitoring.models import Run


class Command(FalsestepCommand):
    help = (
        "Write a run of a batch that is over as a log of Inspect AI (.eval), with its texts; an administrator's act, "
        "kept in the audit trail. The extra falsestep[inspect] brings the program that shows it: inspect view."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", help="where to write it; ends in .eval")
        parser.add_argument("--study", required=True, metavar="SLUG")
        parser.add_argument("--batch", required=True, type=int, metavar="N")
        parser.add_argument("--monitor", required=True, metavar="SLUG")
        parser.add_argument("--condition", required=True, metavar="COND")
        parser.add_argument(
            "--as", required=True, metavar="USERNAME", dest="person", help="an administrator of the study"
        )

    def run(self, **options: Any) -> None:
        study = study_named(options["study"])
        path = Path(options["file"])
        if path.suffix != ".eval":
            raise UserError("the name of an Inspect log ends in .eval")
        person = User.objects.filter(username=options["person"], is_active=True).first()
        if person is None or not person.memberships.filter(study=study, role="administrator").exists():
            raise UserError(f'"{options["person"]}" is no administrator of {study.slug}')
        run = (
            Run.objects.select_related("monitor", "batch__study", "batch__standard")
            .filter(
                batch__study=study,
                batch__number=options["batch"],
                monitor__slug=options["monitor"],
                condition=options["condition"].upper(),
            )
            .first()
        )
        if run is None:
            raise UserError(
                f"batch {options['batch']} of {study.slug} has no run of {options['monitor']} under "
                f"{options['condition'].upper()}"
            )
        try:
            with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
                beside = Path(file.name)
                try:
                    samples = export_run(run=run, actor=person, file=file)
                except BaseException:
                    beside.unlink()
                    raise
            beside.chmod(0o644)
            beside.replace(path)
        except OSError as error:
            raise UserError(f"{path} cannot be written: {error.strerror}") from error
        self.say(f"{path}: {count(samples, 'sample')}")
