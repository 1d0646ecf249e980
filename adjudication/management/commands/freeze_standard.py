"""Freeze a study's labels and decisions as its next reference standard."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from adjudication import queries
from adjudication.services.standards import freeze_standard
from annotation.access import study_named
from core.management.base import FalsestepCommand


class Command(FalsestepCommand):
    help = "Freeze the labels and decisions of a study as its next reference standard."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--study", required=True, metavar="SLUG")
        parser.add_argument("--note", default="", help="kept with the version")
        parser.add_argument(
            "--allow-open", action="store_true", help="leave open disputes in the standard as unresolved"
        )
        parser.add_argument("--json", metavar="FILE", help="write the card as JSON (- is standard output)")

    def run(self, **options: Any) -> None:
        study = study_named(options["study"])
        frozen = freeze_standard(study=study, note=options["note"], allow_open=options["allow_open"])
        standard, card = frozen.standard, queries.card_of(frozen.standard)
        if options["json"] != "-":
            if frozen.created:
                self.say(f"standard {standard.version} of {study.slug}, sha256 {standard.sha256}")
            else:
                self.say(f"nothing changed since version {standard.version}: no new standard")
            cells = ", ".join(f"{number} {cell}" for cell, number in card.cells.items())
            self.say(f"  {card.ready} of {card.traces} traces ready on {card.questions} questions: {cells}")
            for provenance, number in sorted(card.provenance.items()):
                self.say(f"  {number} {provenance}")
            for note in frozen.notes:
                self.say(f"  note: {note.count} {note.name}: {note.text}")
                if note.name == "second look":
                    for name in note.examples:
                        self.say(f"    {name}")
                    if note.count > len(note.examples):
                        self.say(f"    ... and {note.count - len(note.examples)} more")
        self.write_json(
            options["json"],
            {
                "study": study.slug,
                "version": standard.version,
                "sha256": standard.sha256,
                "created": frozen.created,
                **asdict(card),
                "notes": [asdict(note) for note in frozen.notes],
            },
        )
