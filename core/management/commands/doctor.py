"""`manage.py doctor`: whether everything the site needs is there."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from core import doctor
from core.errors import UserError
from core.management.base import FalsestepCommand, count


class Command(FalsestepCommand):
    help = (
        "Look at the database, its migrations, the broker, Redis' eviction policy, workers, the clock, the disk, "
        "fonts and folders. Exit status 1 if anything failed."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", metavar="FILE", help="write the findings as JSON; - is standard output")

    def run(self, **options: Any) -> None:
        found = list(doctor.examine())
        failed = [one for one in found if one.state == "failed"]
        self.write_json(
            options["json"],
            {
                "ok": not failed,
                "findings": [{"name": one.name, "state": one.state, "text": one.text} for one in found],
            },
        )
        if options["json"] != "-":
            for one in found:
                self.say(f"{one.state:8} {one.name}: {one.text}")
        if failed:
            raise UserError(f"{count(len(failed), 'check')} failed: {', '.join(one.name for one in failed)}")
