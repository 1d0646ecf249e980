"""`manage.py add_person`: a person, and roles in a study."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from annotation.access import study_named
from annotation.models import Role
from annotation.services.people import add_person
from core.management.base import FalsestepCommand


class Command(FalsestepCommand):
    help = "Give a person roles in a study; a new person's first password is random and printed once."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")
        parser.add_argument("--study", required=True, metavar="SLUG")
        parser.add_argument(
            "--role", required=True, action="append", choices=Role.values, help="may be given several times"
        )
        parser.add_argument("--name", default="", help="the name that pages show")

    def run(self, **options: Any) -> None:
        added = add_person(
            username=options["username"],
            study=study_named(options["study"]),
            roles=[Role(role) for role in options["role"]],
            display_name=options["name"],
        )
        if added.password:
            self.say(f"{added.person.username} is added; first password: {added.password}")
        if added.given:
            self.say(f"{added.person.username} is now {', '.join(added.given)} of {options['study']}")
        else:
            self.say(f"nothing new: {added.person.username} had these roles already")
