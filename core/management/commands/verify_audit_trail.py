"""verify_audit_trail: recompute every chain of the audit trail and list where one does not hold."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandParser

from core import audit
from core.errors import UserError
from core.management.base import FalsestepCommand, count
from core.models import AuditChain


class Command(FalsestepCommand):
    help = (
        "Check the audit trail and the hash of each standard; exit status 1 if an entry or a frozen label was "
        "changed, removed or slipped in."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--study", help="slug of one study (default: every chain, the site's too)")
        parser.add_argument("--json", metavar="FILE", help="write the result as JSON (- is standard output)")

    def run(self, **options: Any) -> None:
        chains = dict(AuditChain.objects.order_by("scope").values_list("scope", "length"))
        wanted = options["study"]
        if wanted is not None:
            if wanted not in chains:
                others = ", ".join(chains) or "none yet"
                raise UserError(f'no audit chain of a study "{wanted}"; there are: {others}')
            chains = {wanted: chains[wanted]}
        breaks = list(audit.verify(wanted))
        broken = {found.scope for found in breaks}
        if options["json"] != "-":
            for scope, length in chains.items():
                if scope not in broken:
                    self.say(f"{scope}: {count(length, 'entry')}, whole")
            for found in breaks:
                self.say(f"{found.scope}, entry {found.sequence}: {found.reason}")
            if not chains:
                self.say("the audit trail is empty")
        self.write_json(
            options["json"],
            {
                "chains": [
                    {"scope": scope, "entries": length, "whole": scope not in broken}
                    for scope, length in chains.items()
                ],
                "breaks": [
                    {"scope": found.scope, "sequence": found.sequence, "reason": found.reason}
                    for found in breaks
                ],
            },
        )
        if breaks:
            raise UserError(f"the audit trail does not hold in {count(len(breaks), 'place')}")
