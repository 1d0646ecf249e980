"""export_study: everything of a study with its texts, for an administrator; recorded."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from annotation.access import study_named
from core.errors import UserError
from core.management.base import FalsestepCommand
from core.models import User
from monitoring.exports.study import export_study


class Command(FalsestepCommand):
    help = "Write a study with all its texts to a folder; an administrator's act, kept in the audit trail."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", help="an empty folder, or one with an earlier export; made if need be")
        parser.add_argument("--study", required=True, metavar="SLUG")
        parser.add_argument(
            "--as", required=True, metavar="USERNAME", dest="person", help="an administrator of the study"
        )
        parser.add_argument("--json", metavar="FILE", help="write the report as JSON (- is standard output)")

    def run(self, **options: Any) -> None:
        study = study_named(options["study"])
        person = User.objects.filter(username=options["person"], is_active=True).first()
        if person is None:
            raise UserError(f'nobody is called "{options["person"]}"')
        told = export_study(study=study, path=options["folder"], actor=person)
        if options["json"] != "-":
            for name, rows in told.rows.items():
                self.say(f"  {rows:>7} rows  {name}")
            self.say(f"{told.folder}/study_manifest.json, sha256 {told.manifest_sha256}")
        self.write_json(options["json"], asdict(told))
