"""`manage.py revoke_token`: shut out whoever holds a key."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from core.errors import UserError
from core.management.base import FalsestepCommand
from core.models import ApiToken
from core.tokens import revoke_token


class Command(FalsestepCommand):
    help = "Close a token of the API for good. It is named by its beginning, such as fs_0a1b2c3d."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("prefix")

    def run(self, **options: Any) -> None:
        token = ApiToken.objects.select_related("person").filter(prefix=options["prefix"]).first()
        if token is None:
            raise UserError(f'no token begins with "{options["prefix"]}"')
        if token.revoked_at is not None:
            self.say(f"token {token.prefix} of {token.person.username} was revoked already")
            return
        revoke_token(token=token, actor=None)
        self.say(f"token {token.prefix} of {token.person.username} is revoked")
