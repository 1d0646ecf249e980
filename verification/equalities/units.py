"""SI units, their prefixes and the few others that physics texts convert between, as exact factors."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

Dimension = tuple[tuple[str, Fraction], ...]
"""Base quantities with their powers, sorted by name, powers never 0."""

DIMENSIONLESS: Dimension = ()


def times(left: Dimension, right: Dimension, power: Fraction = Fraction(1)) -> Dimension:
    """Return the dimension of left * right**power."""
    powers = dict(left)
    for base, exponent in right:
        powers[base] = powers.get(base, Fraction(0)) + exponent * power
    return tuple(sorted((base, exponent) for base, exponent in powers.items() if exponent))


@dataclass(frozen=True)
class UnitFactor:
    """A unit as a multiple of the coherent SI unit of its dimension."""

    factor: Fraction
    dimension: Dimension
    coherent: bool
    """True for SI units without a prefix (kg included), where a bare number can be read as if it had them."""


def _dimension(text: str) -> Dimension:
    powers = {}
    for part in text.split():
        base, _, power = part.partition("^")
        powers[base] = Fraction(power or 1)
    return tuple(sorted(powers.items()))


# symbol -> (dimension in base quantities, takes prefixes)
_COHERENT = {
    "m": "m",
    "s": "s",
    "A": "A",
    "K": "K",
    "mol": "mol",
    "J": "kg m^2 s^-2",
    "N": "kg m s^-2",
    "Pa": "kg m^-1 s^-2",
    "W": "kg m^2 s^-3",
    "V": "kg m^2 s^-3 A^-1",
    "Hz": "s^-1",
    "C": "A s",
    "T": "kg s^-2 A^-1",
    "F": "kg^-1 m^-2 s^4 A^2",
    "H": "kg m^2 s^-2 A^-2",
    "Ω": "kg m^2 s^-3 A^-2",
    "Wb": "kg m^2 s^-2 A^-1",
    "rad": "",
    "sr": "",
}
_OTHERS: dict[str, tuple[Fraction, str]] = {
    "g": (Fraction(1, 1000), "kg"),
    "eV": (Fraction("1.602176634e-19"), "kg m^2 s^-2"),
    "L": (Fraction(1, 1000), "m^3"),
    "l": (Fraction(1, 1000), "m^3"),
    "bar": (Fraction(100_000), "kg m^-1 s^-2"),
    "cal": (Fraction("4.184"), "kg m^2 s^-2"),
}
_WITHOUT_PREFIX: dict[str, tuple[Fraction, str]] = {
    "atm": (Fraction(101_325), "kg m^-1 s^-2"),
    "Torr": (Fraction(101_325, 760), "kg m^-1 s^-2"),
    "torr": (Fraction(101_325, 760), "kg m^-1 s^-2"),
    "mmHg": (Fraction("133.322387415"), "kg m^-1 s^-2"),
    "min": (Fraction(60), "s"),
    "h": (Fraction(3600), "s"),
    "hr": (Fraction(3600), "s"),
    "Å": (Fraction(1, 10**10), "m"),
    "u": (Fraction("1.66053906660e-27"), "kg"),
    # A Celsius reading is not a number of kelvins: a quantity of its own, so that mixtures are not checked.
    "°C": (Fraction(1), "celsius"),
}
_PREFIXES = {
    "P": 15,
    "T": 12,
    "G": 9,
    "M": 6,
    "k": 3,
    "h": 2,
    "d": -1,
    "c": -2,
    "m": -3,
    "μ": -6,
    "µ": -6,
    "u": -6,
    "n": -9,
    "p": -12,
    "f": -15,
}
_WORDS = {
    "meter": "m",
    "metre": "m",
    "second": "s",
    "sec": "s",
    "minute": "min",
    "hour": "h",
    "gram": "g",
    "kilogram": "kg",
    "joule": "J",
    "newton": "N",
    "pascal": "Pa",
    "watt": "W",
    "volt": "V",
    "ampere": "A",
    "amp": "A",
    "hertz": "Hz",
    "coulomb": "C",
    "tesla": "T",
    "kelvin": "K",
    "mole": "mol",
    "liter": "L",
    "litre": "L",
    "ohm": "Ω",
    "kilometer": "km",
    "kilometre": "km",
    "centimeter": "cm",
    "centimetre": "cm",
    "millimeter": "mm",
    "millimetre": "mm",
    "nanometer": "nm",
    "nanometre": "nm",
    "millisecond": "ms",
    "kilojoule": "kJ",
    "radian": "rad",
}
DEGREE = "degree"
_COHERENT_NAMES = {*_COHERENT, "kg"}


@lru_cache(maxsize=4096)
def unit_named(symbol: str) -> UnitFactor | None:
    """Return the unit written as `symbol` (kJ, cm, seconds ...), or None for anything else."""
    if len(symbol) > 16:
        return None
    symbol = _WORDS.get(symbol.lower(), _WORDS.get(symbol.lower().removesuffix("s"), symbol))
    if symbol in _COHERENT:
        return UnitFactor(Fraction(1), _dimension(_COHERENT[symbol]), coherent=True)
    for table in (_OTHERS, _WITHOUT_PREFIX):
        if symbol in table:
            factor, dimension = table[symbol]
            return UnitFactor(factor, _dimension(dimension), coherent=False)
    prefix, stem = symbol[:1], symbol[1:]
    if prefix in _PREFIXES and (stem in _COHERENT or stem in _OTHERS):
        factor, dimension = _OTHERS.get(stem, (Fraction(1), _COHERENT.get(stem, "")))
        factor *= Fraction(10) ** _PREFIXES[prefix]
        return UnitFactor(factor, _dimension(dimension), coherent=symbol in _COHERENT_NAMES)
    return None


# Ratios that show a conversion done without saying so: a result off by one of these (or by a power of ten)
# is a unit left out, not false arithmetic.
SILENT_RATIOS = (60.0, 3600.0, 3.6, 24.0, 1.602176634e-19, 4.184, 101_325.0, 57.29577951308232, 1.01325)
