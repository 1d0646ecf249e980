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
