"""`manage.py restore`: a backup into an empty database, compared with its manifest."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from core.backup import read_manifest, restore
from core.management.base import FalsestepCommand, count


class Command(FalsestepCommand):
    help = (
        "Restore a backup into an empty database, then compare every table's rows, the heads of the audit trail and "
        "the hashes of the standards with the manifest, and walk the audit trail."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path)
        parser.add_argument(
            "--check", action="store_true", help="only look whether the backup's files are whole"
        )

    def run(self, **options: Any) -> None:
        if options["check"]:
            manifest = read_manifest(options["folder"])
            self.say(f"the backup of {manifest['made_at']} is whole; nothing was restored")
            return
        manifest = restore(options["folder"])
        self.say(
            f"restored the backup of {manifest['made_at']}: {count(sum(manifest['rows'].values()), 'row')}, "
            f"{count(len(manifest['audit_heads']), 'audit chain')} and "
            f"{count(len(manifest.get('standards', [])), 'standard')} as they were"
        )
