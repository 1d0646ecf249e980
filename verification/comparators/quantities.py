"""Numbers with tolerance and units; conversions by pint, whose parser never sees a text of ours."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from verification.certificates.transformation import Transformation
from verification.comparators.outcome import (
    BadComparator,
    Comparison,
    different,
    equal,
    undecided,
    unreadable,
)

MAX_EXPONENT = 400
MAX_POWER = 12


class NoQuantity(Exception):
    """A text that is not one number with an optional unit; the text says why."""


@dataclass(frozen=True)
class Quantity:
    """A number and its unit as powers of unit names; no powers is no unit."""

    number: Fraction
    unit: tuple[tuple[str, Fraction], ...]


_LEAD = re.compile(
    r"^(?:[A-Za-zα-ωΑ-Ω\\][\w\\{}, ]{0,30}?\s*(?:=|≈|\\approx)|=|≈|~|\\approx|about|approximately)\s*"
)
_NUMBER = re.compile(
    r"(?P<sign>[+-])?\s*(?:\\[dt]?frac\s*\{\s*(?P<above>\d{1,30})\s*\}\s*\{\s*(?P<below>\d{1,30})\s*\}"
    r"|(?P<number>\d{1,3}(?:(?:,|\{,\}|\\,|\s)\d{3})+(?:\.\d+)?(?!\d)|\d+(?:\.\d+)?|\.\d+)"
    r"(?:\s*/\s*(?P<under>\d{1,30})(?![\d.]))?)"
    r"(?:[eE](?P<e>[+-]?\d{1,4})(?![A-Za-z\d])|\s*(?:\*|\\times|\\cdot)\s*10\s*(?:\^|\*\*)\s*"
    r"(?:\{\s*(?P<braced>[+-]?\d{1,4})\s*\}|(?P<bare>[+-]?\d{1,4}))|(?![A-Za-z]))?"
)
_TEN = re.compile(r"(?P<sign>[+-])?\s*10\s*(?:\^|\*\*)\s*(?:\{\s*([+-]?\d{1,4})\s*\}|([+-]?\d{1,4}))")
_WRAP = re.compile(r"\\(?:mathrm|text|textrm|operatorname|rm|si|unit|boxed)\s*")
_SIGNS = {
    "−": "-",
    "–": "-",
    "×": "*",
    "·": "*",
    "⋅": "*",
    "\\,": " ",
    "\\ ": " ",
    "\\;": " ",
    "\\!": "",
    "~": " ",
}
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_UNIT = re.compile(
    r"\s*(?P<sign>[*/]|per\b)?\s*(?P<open>\()?\s*(?P<name>%|°\s?[CFK]?|[A-Za-zµμΩÅ]+)\s*"
    r"(?:(?:\^|\*\*)?\s*(?:\{\s*(?P<braced>[+-]?\d{1,2})\s*\}|(?P<bare>[+-]?\d{1,2})))?(?P<close>\))?"
)
_NAMES = {
    "%": "percent", "°": "degree", "°C": "degree_Celsius", "°F": "degree_Fahrenheit", "°K": "kelvin",
    "Ω": "ohm", "Å": "angstrom", "deg": "degree", "degrees": "degree", "C": "coulomb", "h": "hour", "u": "dalton",
    "l": "liter", "sec": "second", "celsius": "degree_Celsius", "Celsius": "degree_Celsius", "Ohm": "ohm",
}  # fmt: skip


@lru_cache(maxsize=1)
def _registry() -> Any:
    import pint  # a third of a second, and only where a unit is compared

    return pint.UnitRegistry(non_int_type=Fraction, cache_folder=None)


@lru_cache(maxsize=4_096)
def unit_name(symbol: str) -> str:
    """Return pint's name of one unit symbol; NoQuantity for what is none."""
    symbol = _NAMES.get(symbol.replace(" ", ""), symbol.replace("μ", "µ").replace("Ω", "ohm"))
    if symbol in ("µ", "micron", "micro"):
        raise NoQuantity("a prefix without its unit")
    if not symbol.isidentifier() or len(symbol) > 24:
        raise NoQuantity(f"{symbol[:24]!r} is no unit")
    found = _registry().parse_unit_name(symbol)
    if not found:
        raise NoQuantity(f"{symbol!r} is no unit")
    prefix, name, _ = found[0]
    return f"{prefix}{name}"


def read_quantity(text: str) -> Quantity:
    """Read one number with an optional unit, plain or LaTeX; NoQuantity for anything more or less."""
    for old, new in _SIGNS.items():
        text = text.replace(old, new)
    text = re.sub(r"[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+", lambda match: "^" + match.group().translate(_SUPERSCRIPTS), text)
    text = text.strip(" \t\n$.")
    if boxed := re.fullmatch(r"\\boxed\s*\{(.*)\}", text, re.DOTALL):
        text = boxed.group(1)
    text = re.sub(r"\\mu\s*\\(?:mathrm|text|rm)\s*\{", "{µ", text)
    text = re.sub(r"\\mu\s*(?=[A-Za-z])", "µ", text)
    text = _WRAP.sub(" ", text).replace("\\left", "").replace("\\right", "").replace("\\%", "%")
    text = re.sub(r"\^\s*\{?\s*\\circ\s*\}?|\\degree\b", "°", text).replace("\\Omega", "Ω")
    text = text.strip(" \t\n$*_.").replace("$", "")
    text = _LEAD.sub("", text, count=1).strip()
    # braces that only hold a unit or a number together
    text = re.sub(r"(?<![\^}c])\{\s*([^{}\\]*)\s*\}(?!\{)", r" \1 ", text) if "frac" not in text else text
    number, end = _number(text)
    return Quantity(number, _unit(_unwrapped(text[end:].strip(" .,;"))))


def _unwrapped(text: str) -> str:
    """Take off braces that hold the whole text."""
    while text.startswith("{") and text.endswith("}"):
        depth = 0
        for place, character in enumerate(text):
            depth += (character == "{") - (character == "}")
            if depth == 0 and place < len(text) - 1:
                return text
        text = text[1:-1].strip()
    return text


def _number(text: str) -> tuple[Fraction, int]:
    ten = _TEN.match(text)
    if ten:
        exponent = int(ten.group(2) or ten.group(3))
        _bound(exponent)
        return Fraction(10) ** exponent * (-1 if ten.group("sign") == "-" else 1), ten.end()
    match = _NUMBER.match(text)
    if match is None:
        raise NoQuantity("it does not begin with a number")
    if match.group("above"):
        if int(match.group("below")) == 0:
            raise NoQuantity("a division by zero")
        number = Fraction(int(match.group("above")), int(match.group("below")))
    else:
        digits = re.sub(r",|\{,\}|\\,|\s", "", match.group("number"))
        if len(digits) > 60:
            raise NoQuantity("a number of very many digits")
        number = Fraction(digits)
        if match.group("under"):
            if int(match.group("under")) == 0:
                raise NoQuantity("a division by zero")
            number /= int(match.group("under"))
    exponent = int(match.group("e") or match.group("braced") or match.group("bare") or 0)
    _bound(exponent)
    number *= Fraction(10) ** exponent
    return (-number if match.group("sign") == "-" else number), match.end()


def _bound(exponent: int) -> None:
    if abs(exponent) > MAX_EXPONENT:
        raise NoQuantity(f"a power of ten above {MAX_EXPONENT}")


def _unit(text: str) -> tuple[tuple[str, Fraction], ...]:
    powers: dict[str, Fraction] = {}
    place, in_group, group_below, after_slash = 0, False, False, False
    while place < len(text):
        match = _UNIT.match(text, place)
        if match is None or match.end() == place:
            raise NoQuantity(f"{text[place : place + 20]!r} is no unit")
        slash = match.group("sign") in ("/", "per")
        if (slash and in_group) or (match.group("open") and (in_group or not slash)):
            raise NoQuantity("brackets in the unit that are not read")
        if after_slash and not slash and not in_group:
            raise NoQuantity("a unit after a slash may stand above or below it")
        if match.group("open"):
            in_group, group_below = True, slash
        below = group_below if in_group else slash
        power = int(match.group("braced") or match.group("bare") or 1)
        if abs(power) > MAX_POWER:
            raise NoQuantity("a unit to a very high power")
        name = unit_name(match.group("name"))
        powers[name] = powers.get(name, Fraction(0)) + (-power if below else power)
        after_slash = below
        if match.group("close"):
            if not in_group:
                raise NoQuantity("a bracket too many in the unit")
            in_group = False
        place = match.end()
    if in_group:
        raise NoQuantity("a bracket of the unit is not closed")
    return tuple(sorted((name, power) for name, power in powers.items() if power))


def _in_units_of(quantity: Quantity, other: Quantity) -> Fraction | None:
    """Return the number of a quantity in the unit of another one; None for another kind of quantity."""
    import pint  # see _registry

    registry = _registry()

    def made(one: Quantity) -> Any:
        units = registry.UnitsContainer(dict(one.unit))
        return registry.Quantity(one.number, registry.Unit(units))

    try:
        number = made(quantity).to(made(other).units).magnitude
    except (pint.DimensionalityError, pint.OffsetUnitCalculusError):
        return None
    return Fraction(number)


@dataclass(frozen=True)
class NumberWithUnit:
    """Compares numbers: equal within `absolute` (in the key's unit) or `relative` (of the key), the larger.

    Without a tolerance the numbers must be equal exactly. `unit` is what to do with an answer that lacks the
    key's unit: "required" leaves it undecided, "optional" takes the key's. With a `transformation` of the task the
    key becomes a k + b and the tolerance a t + 2 eps: keeping the old one would misjudge right answers.
    """

    relative: Fraction = Fraction(0)
    absolute: Fraction = Fraction(0)
    unit: str = "required"
    transformation: Transformation | None = None

    def __post_init__(self) -> None:
        if self.relative < 0 or self.absolute < 0:
            raise BadComparator("a tolerance must not be negative")
        if self.unit not in ("required", "optional"):
            raise BadComparator(f'"unit" must be required or optional, not {self.unit!r}')

    def compare(self, key: str, answer: str) -> Comparison:
        """Say whether the answer is the key's number within the tolerance."""
        odd = unreadable(key, answer)
        if odd is not None:
            return odd
        try:
            want = read_quantity(key)
        except NoQuantity as error:
            return undecided(f"the key is not a number with a unit: {error}")
        try:
            have = read_quantity(answer)
        except NoQuantity as error:
            return undecided(f"the answer is not a number with a unit: {error}")
        if want.unit and not have.unit and want.unit != (("percent", Fraction(1)),):
            if self.unit == "required" and have.number:
                return undecided("the answer has no unit, the key has one")
            have = Quantity(have.number, want.unit)
        elif have.unit and not want.unit and _in_units_of(have, want) is None:
            return undecided("the answer has a unit, the key has none")
        elif (
            (not want.unit) != (not have.unit)
            and ("percent", Fraction(1)) in (*want.unit, *have.unit)
            and want.number == have.number != 0
        ):
            return undecided("the same number, but only one of the two in per cent")
        number = _in_units_of(have, want)
        if number is None:
            return different("another kind of quantity")
        return self._within(want.number, number)

    def _within(self, want: Fraction, have: Fraction) -> Comparison:
        allowed = max(self.absolute, self.relative * abs(want))
        if self.transformation is not None:
            allowed = self.transformation.optimality(allowed)
            want = self.transformation.a * want + self.transformation.b
        gap = abs(have - want)
        shown = f"{_shown(have)} against {_shown(want)} in the key's unit"
        if gap <= allowed:
            return equal(shown if not gap else f"{shown}, within {_shown(allowed)}")
        return different(f"{shown}, off by {_shown(gap)} where {_shown(allowed)} is allowed")


def _shown(number: Fraction) -> str:
    try:
        return f"{float(number):.6g}"
    except OverflowError:
        return "a very large number"
