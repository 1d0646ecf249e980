"""Typed reading of the fields of one row: every refusal names the field."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any


class RefusedRow(Exception):
    """Why one row cannot be imported; the caller knows its line."""


class ConflictingRow(RefusedRow):
    """A row that is well made and contradicts what is here, or an earlier line."""


class Fields:
    """Typed reading of one object; every refusal names the field."""

    def __init__(self, values: Any, *, known: frozenset[str] | None = None, at: str = "") -> None:
        """`known` lists the fields that may be there; without it unknown ones are let pass."""
        self.at = at
        if not isinstance(values, dict):
            raise RefusedRow(f"{at or 'the row'} is not a JSON object")
        self.values = values
        if known is not None:
            for name in values:
                if name not in known:
                    raise RefusedRow(f"unknown field {self._named(name)}")

    def has(self, name: str) -> bool:
        """Whether the field is there and not null."""
        return self.values.get(name) is not None

    def text(self, name: str, *, default: str | None = None, max_length: int | None = None) -> str:
        """Return a text; the default where the field is missing or null, else it must not be blank."""
        value = self._required(name) if default is None else self.values.get(name)
        if value is None:
            assert default is not None
            return default
        if not isinstance(value, str):
            raise RefusedRow(f"{self._named(name)} must be a text, not {_kind(value)}")
        if default is None and not value.strip():
            raise RefusedRow(f"{self._named(name)} is blank")
        if max_length is not None and len(value) > max_length:
            raise RefusedRow(
                f"{self._named(name)} has {len(value)} characters; at most {max_length} are kept"
            )
        return value

    def identifier(self, name: str, *, max_length: int, default: str | None = None) -> str:
        """Return a name: a text on one line without blanks at its ends."""
        value = self.text(name, max_length=max_length, default=default)
        if value != value.strip() or not value.isprintable():
            raise RefusedRow(f"{self._named(name)} has blanks at an end, or characters that do not print")
        return value

    def truth(self, name: str) -> bool:
        """Return true or false; 1 and 0 are read so too."""
        value = self._required(name)
        if isinstance(value, int) and value in (0, 1):
            return bool(value)
        raise RefusedRow(f"{self._named(name)} must be true, false, 1 or 0, not {_kind(value)}")

    def truth_or_none(self, name: str) -> bool | None:
        """Return true, false, or None where the field is missing or null."""
        return self.truth(name) if self.has(name) else None

    def whole(self, name: str, *, least: int) -> int:
        """Return a whole number of at least `least`; 3.0, "3" and true are none."""
        value = self._required(name)
        if isinstance(value, bool) or not isinstance(value, int):
            raise RefusedRow(f"{self._named(name)} must be a whole number, not {_kind(value)}")
        if value < least:
            raise RefusedRow(f"{self._named(name)} is {value}; it must be at least {least}")
        if value > 2**31 - 1:
            raise RefusedRow(f"{self._named(name)} is {value}, which is too large")
        return value

    def whole_or_none(self, name: str, *, least: int) -> int | None:
        """Return a whole number, or None where the field is missing or null."""
        return self.whole(name, least=least) if self.has(name) else None

    def instant(self, name: str) -> datetime | None:
        """Return a time with its zone, or None; what has no zone, or lies in the future, is refused."""
        if not self.has(name):
            return None
        value = self.values[name]
        if isinstance(value, str):
            try:
                value = datetime.fromisoformat(value)
            except ValueError as error:
                raise RefusedRow(f"{self._named(name)} is no time like 2026-01-31T12:00:00Z") from error
        if not isinstance(value, datetime) or value.tzinfo is None:
            raise RefusedRow(f"{self._named(name)} must be a time with its zone, like 2026-01-31T12:00:00Z")
        if value > datetime.now(UTC) + timedelta(days=1):
            raise RefusedRow(f"{self._named(name)} lies in the future")
        return value.astimezone(UTC)

    def step(self, name: str, *, n_steps: int | None = None) -> int | None:
        """Return a step counted from 1, or None; a step past the end is refused where the end is known."""
        if not self.has(name):
            return None
        if self.values[name] == 0 and not isinstance(self.values[name], bool):
            raise RefusedRow(f"{self._named(name)} is 0; steps are counted from 1, no error is null")
        step = self.whole(name, least=1)
        check_step(self._named(name), step, n_steps)
        return step

    def parts(self, name: str) -> list[Any]:
        """Return a list that is not empty."""
        value = self._required(name)
        if not isinstance(value, list):
            raise RefusedRow(f"{self._named(name)} must be a list, not {_kind(value)}")
        if not value:
            raise RefusedRow(f"{self._named(name)} is an empty list")
        return value

    def texts(self, name: str) -> list[str]:
        """Return a list of texts that is not empty."""
        values = self.parts(name)
        for number, value in enumerate(values, start=1):
            if not isinstance(value, str):
                raise RefusedRow(f"{self._named(name)} must hold texts; number {number} is {_kind(value)}")
        return values

    def choice(self, name: str, choices: tuple[str, ...], *, default: str) -> str:
        """Return one of the choices."""
        value = self.text(name, default=default)
        if value not in choices:
            raise RefusedRow(f'{self._named(name)} is "{value[:40]}"; it must be one of {", ".join(choices)}')
        return value

    def _required(self, name: str) -> Any:
        value = self.values.get(name)
        if value is None:
            raise RefusedRow(f"{self._named(name)} is {'null' if name in self.values else 'missing'}")
        return value

    def _named(self, name: str) -> str:
        return f'"{self.at}.{name[:60]}"' if self.at else f'"{name[:60]}"'


def check_step(name: str, step: int | None, n_steps: int | None) -> None:
    """Refuse a step past the end of its trace."""
    if step is not None and n_steps is not None and step > n_steps:
        steps = "1 step" if n_steps == 1 else f"{n_steps} steps"
        raise RefusedRow(f"{name} is {step}, past the end: the trace has {steps}")


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"the number {value}"
    names: dict[type, str] = {str: "a text", list: "a list", dict: "an object"}
    return names.get(type(value), "null")
