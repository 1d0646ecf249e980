"""Which traces of a standard a report is on: all of them, or those of a generator, a subject, a length."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from adjudication.models import ReferenceStandard, StandardLabel

# (name, words, least, most number of steps)
LENGTHS: tuple[tuple[str, str, int, int | None], ...] = (
    ("1-8", "up to 8 steps", 1, 8),
    ("9-16", "9 to 16 steps", 9, 16),
    ("17-32", "17 to 32 steps", 17, 32),
    ("33-", "more than 32 steps", 33, None),
)
_LENGTHS = {name: (words, least, most) for name, words, least, most in LENGTHS}


@dataclass(frozen=True)
class Selection:
    """A filter; empty parts let everything pass."""

    generator: str = ""
    subject: str = ""
    length: str = ""

    @classmethod
    def read(cls, values: Mapping[str, Any], *, generators: bool) -> Selection:
        """Read a query; an unknown length, or a generator where none may be asked for, is left aside."""
        length = str(values.get("length", ""))
        return cls(
            generator=str(values.get("generator", "")) if generators else "",
            subject=str(values.get("subject", "")),
            length=length if length in _LENGTHS else "",
        )

    @property
    def parts(self) -> dict[str, str]:
        """The parts that are set, for an address or a key."""
        named = {"generator": self.generator, "subject": self.subject, "length": self.length}
        return {name: value for name, value in named.items() if value}

    @property
    def words(self) -> str:
        """Say what is selected; nothing when everything is."""
        said = [
            f"traces of {self.generator}" if self.generator else "",
            f"questions on {self.subject}" if self.subject else "",
            f"traces of {_LENGTHS[self.length][0]}" if self.length else "",
        ]
        return ", ".join(part for part in said if part)

    def on_labels(self) -> Q:
        """The condition on rows of StandardLabel."""
        condition = Q()
        if self.generator:
            condition &= Q(trace__generator=self.generator)
        if self.subject:
            condition &= Q(trace__question__subject=self.subject)
        if self.length:
            _, least, most = _LENGTHS[self.length]
            condition &= Q(trace__n_steps__gte=least)
            condition &= Q() if most is None else Q(trace__n_steps__lte=most)
        return condition


@dataclass(frozen=True)
class Choices:
    """What may be selected on a standard's ready traces."""

    generators: list[str]
    subjects: list[str]
    lengths: list[tuple[str, str]]


def choices(standard: ReferenceStandard, *, generators: bool) -> Choices:
    """Return the generators (if they may be shown), subjects and lengths that occur."""
    ready = StandardLabel.objects.filter(standard=standard, status=StandardLabel.Status.READY).order_by()
    rows = ready.values_list("trace__generator", "trace__question__subject", "trace__n_steps").distinct()
    found = list(rows)
    lengths = [row[2] for row in found if row[2]]
    return Choices(
        generators=sorted({row[0] for row in found if row[0]}) if generators else [],
        subjects=sorted({row[1] for row in found if row[1]}),
        lengths=[
            (name, words)
            for name, words, least, most in LENGTHS
            if any(least <= n and (most is None or n <= most) for n in lengths)
        ],
    )
