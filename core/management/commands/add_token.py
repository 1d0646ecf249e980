"""`manage.py add_token`: a key with which a program acts for a person."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from core.errors import UserError
from core.management.base import FalsestepCommand
from core.models import Scope, User
from core.tokens import DEFAULT_DAYS, LONGEST_DAYS, issue_token


class Command(FalsestepCommand):
    help = (
        "Make a token for the API and print its key once; only a hash is kept. What it opens is limited by "
        "its scopes, and by the roles of its person in each study."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")
        parser.add_argument(
            "--scope", required=True, action="append", choices=Scope.values, help="may be given several times"
        )
        parser.add_argument(
            "--days",
            type=int,
            default=DEFAULT_DAYS,
            help=f"how long it is valid: 1 to {LONGEST_DAYS}, {DEFAULT_DAYS} by default",
        )
        parser.add_argument("--name", default="", help="what it is used for")

    def run(self, **options: Any) -> None:
        person = User.objects.filter(username=options["username"]).first()
        if person is None:
            raise UserError(f'nobody is named "{options["username"]}"; add_person adds people')
        issued = issue_token(
            person=person, scopes=options["scope"], days=options["days"], name=options["name"]
        )
        self.say(
            f"token {issued.token.prefix} of {person.username}, valid to {issued.token.expires_at:%Y-%m-%d}"
        )
        self.say("its key, shown only now:")
        self.say(issued.key)
