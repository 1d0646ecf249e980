"""What an audit works on: items with keys, stored responses, and the cell that a rule is proposed for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.errors import UserError


class BadAudit(UserError):
    """An audit that cannot be computed; the text says what and where."""


@dataclass(frozen=True)
class Item:
    """One question of a benchmark: its key, the cell it belongs to, and its cluster (an image, a family)."""

    name: str
    domain: str
    level: str
    key: str
    cluster: str

    @property
    def cell(self) -> tuple[str, str]:
        """(domain, level)."""
        return (self.domain, self.level)


@dataclass(frozen=True)
class Response:
    """One stored response with the score it has (None: the strict comparison with the key decides)."""

    item: str
    model: str
    text: str
    correct: bool | None


@dataclass(frozen=True)
class Material:
    """Items by name and the responses to them."""

    items: dict[str, Item]
    responses: Sequence[Response]

    def __post_init__(self) -> None:
        seen = set()
        for response in self.responses:
            if response.item not in self.items:
                raise BadAudit(f'a response of "{response.model}" is to "{response.item}", which has no key')
            if (response.item, response.model) in seen:
                raise BadAudit(f'"{response.model}" has two responses to "{response.item}"')
            seen.add((response.item, response.model))
        if not self.items:
            raise BadAudit("there are no keys")


@dataclass(frozen=True)
class Target:
    """The cell whose rule is audited, and the two levels whose difference is tested."""

    domain: str
    level: str
    lower: str
    upper: str
