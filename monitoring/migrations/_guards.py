"""Changing the guard of a table: it is taken away, and another put in its place."""

from __future__ import annotations

from typing import Any

from core.guards import GuardFinalRows


class Unguard(GuardFinalRows):
    """Take a guard away."""

    def database_forwards(self, *args: Any) -> None:
        super().database_backwards(*args)

    def database_backwards(self, *args: Any) -> None:
        super().database_forwards(*args)

    def describe(self) -> str:
        return f"Take away the guard of {self.table}"


class GuardDelete(GuardFinalRows):
    """Refuse DELETE only."""

    @property
    def verbs(self) -> list[str]:
        return ["DELETE"]


class UnguardDelete(Unguard):
    """Take away a guard of DELETE only."""

    @property
    def verbs(self) -> list[str]:
        return ["DELETE"]


class GuardAllButRemoval(GuardFinalRows):
    """Refuse UPDATE and DELETE of final rows, but for one UPDATE: the text of the reply is taken away.

    It sets `reply` to "", `reply_sha256` to a digest and `reply_removed_at` to a time, once, where there was a
    reply, and leaves each of the columns `kept` as it is.
    """

    def __init__(self, table: str, *, final: str, kept: list[str]) -> None:
        super().__init__(table, final=final)
        self.kept = kept

    def deconstruct(self) -> tuple[str, list[Any], dict[str, Any]]:
        return self.__class__.__name__, [self.table], {"final": self.final, "kept": self.kept}

    def _create(self, vendor: str, verb: str) -> list[str]:
        whole = self.final
        if verb == "UPDATE":
            same = "IS NOT DISTINCT FROM" if vendor == "postgresql" else "IS"
            removal = [
                "OLD.reply_removed_at IS NULL",
                "OLD.reply <> ''",
                "NEW.reply_removed_at IS NOT NULL",
                "NEW.reply = ''",
                "NEW.reply_sha256 IS NOT NULL",
                "length(NEW.reply_sha256) = 64",
                *(f"NEW.{column} {same} OLD.{column}" for column in self.kept),
            ]
            self.final = f"({whole}) AND NOT ({' AND '.join(removal)})"
        try:
            return super()._create(vendor, verb)
        finally:
            self.final = whole
