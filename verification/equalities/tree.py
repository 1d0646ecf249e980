"""Expression trees: what one side of an equality says, before it is given a value."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from verification.equalities.units import UnitFactor


class NotCheckable(Exception):
    """A side that has no numerical value that we may claim to know."""


@dataclass(frozen=True)
class Number:
    """A printed number: its value, one unit of its last digit, and how it is written (see number_value)."""

    value: Fraction
    place: Fraction
    style: str
    truncated: bool = False


@dataclass(frozen=True)
class Constant:
    name: str


@dataclass(frozen=True)
class Name:
    text: str


@dataclass(frozen=True)
class Unit:
    unit: UnitFactor


@dataclass(frozen=True)
class Negative:
    body: Tree


@dataclass(frozen=True)
class Operation:
    sign: str
    left: Tree
    right: Tree


@dataclass(frozen=True)
class Call:
    function: str
    body: Tree


Tree = Number | Constant | Name | Unit | Negative | Operation | Call
