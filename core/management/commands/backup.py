"""`manage.py backup`: the database and the files beside it, into a folder."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from core.backup import back_up
from core.management.base import FalsestepCommand, count


class Command(FalsestepCommand):
    help = (
        "Copy the database and the files beside it into a new folder, with a manifest of hashes. The site may go on "
        "meanwhile. The folder holds every text and label, and embedded the secret key: keep it as safe as the site."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path)

    def run(self, **options: Any) -> None:
        manifest = back_up(options["folder"])
        self.say(
            f"{count(sum(manifest['rows'].values()), 'row')}, {count(len(manifest['audit_heads']), 'audit chain')}, "
            f"{count(len(manifest['files']), 'file')} in {options['folder']}"
        )
