"""Read the stored replies of a batch anew, without paying."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from annotation.access import study_named
from core.errors import UserError
from core.management.base import FalsestepCommand
from monitoring.engine.reparsing import reparse_batch
from monitoring.models import Batch


class Command(FalsestepCommand):
    help = (
        "Read the stored replies of a batch anew with the parser as it is now. Verdicts are final: where any differs, "
        "a new finished batch holds the new ones, and the report reads it. Nothing is sent or paid."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--study", required=True, metavar="SLUG")
        parser.add_argument("--batch", required=True, type=int, metavar="N")
        parser.add_argument("--dry-run", action="store_true", help="say what would differ; write nothing")
        parser.add_argument("--json", metavar="FILE", help="what differs (- for stdout)")

    def run(self, **options: Any) -> None:
        study = study_named(options["study"])
        batch = Batch.objects.select_related("study").filter(study=study, number=options["batch"]).first()
        if batch is None:
            raise UserError(f"{study.slug} has no batch {options['batch']}")
        told = reparse_batch(batch=batch, actor=None, dry_run=options["dry_run"])
        changes = [
            {"condition": condition, "from": before, "to": now, "verdicts": number}
            for (condition, before, now), number in sorted(told.changes.items())
        ]
        if options["json"] != "-":
            self.say(f"{told.read} replies read anew, {told.changed} verdicts differ")
            for change in changes:
                self.say("  {condition}: {verdicts} from {from} to {to}".format(**change))
            if told.batch is not None:
                self.say(f"batch {told.batch.number} holds them")
        number = None if told.batch is None else told.batch.number
        self.write_json(
            options["json"],
            {"read": told.read, "changed": told.changed, "changes": changes, "batch": number},
        )
