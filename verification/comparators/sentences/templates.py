"""Templates of keys: fixed words with named slots, such as `joint between block {UPPER} and block {LOWER}`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from verification.comparators.outcome import BadComparator

SLOT = re.compile(r"\{([A-Z][A-Z0-9_]*)\}")
VALUE = r"[^\s;,][^;,]{0,80}?"


@dataclass(frozen=True)
class Template:
    """A sentence with slots; a slot holds anything without a comma or semicolon."""

    text: str

    @cached_property
    def slots(self) -> tuple[str, ...]:
        """The names of the slots in their order."""
        return tuple(SLOT.findall(self.text))

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        parts, place = [], 0
        seen: set[str] = set()
        for match in SLOT.finditer(self.text):
            name = match.group(1)
            if name in seen:
                raise BadComparator(f'the template names the slot "{name}" twice')
            seen.add(name)
            parts += [_literal(self.text[place : match.start()]), f"(?P<{name}>{VALUE})"]
            place = match.end()
        parts.append(_literal(self.text[place:]))
        return re.compile(r"\s*" + "".join(parts) + r"\s*\.?\s*", re.IGNORECASE)

    def match(self, text: str) -> dict[str, str] | None:
        """Return the slots' values in a text, None if it does not follow the template."""
        found = self._pattern.fullmatch(text)
        return found.groupdict() if found else None

    def fill(self, values: dict[str, str]) -> str:
        """Return the sentence with the slots filled."""
        return SLOT.sub(lambda match: values[match.group(1)], self.text)


def _literal(text: str) -> str:
    return re.sub(r"(?:\\ |\s)+", r"\\s+", re.escape(text))
