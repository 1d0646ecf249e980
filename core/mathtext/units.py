"""Units as siunitx writes them, turned into plain LaTeX: \\SI{3}{\\metre\\per\\second\\squared}."""

from __future__ import annotations

import re

PREFIXES = {
    "yocto": "y", "zepto": "z", "atto": "a", "femto": "f", "pico": "p", "nano": "n", "micro": "μ",
    "milli": "m", "centi": "c", "deci": "d", "deca": "da", "hecto": "h", "kilo": "k", "mega": "M",
    "giga": "G", "tera": "T", "peta": "P", "exa": "E", "zetta": "Z", "yotta": "Y",
}  # fmt: skip
UNITS = {
    "ampere": "A", "candela": "cd", "kelvin": "K", "kilogram": "kg", "gram": "g", "metre": "m",
    "meter": "m", "mole": "mol", "second": "s", "becquerel": "Bq", "coulomb": "C", "farad": "F",
    "gray": "Gy", "hertz": "Hz", "henry": "H", "joule": "J", "lumen": "lm", "lux": "lx", "newton": "N",
    "ohm": "Ω", "pascal": "Pa", "radian": "rad", "siemens": "S", "sievert": "Sv", "steradian": "sr",
    "tesla": "T", "volt": "V", "watt": "W", "weber": "Wb", "degreeCelsius": "°C", "celsius": "°C",
    "katal": "kat", "day": "d", "hour": "h", "minute": "min", "litre": "L", "liter": "L", "tonne": "t",
    "electronvolt": "eV", "dalton": "Da", "atomicmassunit": "u", "astronomicalunit": "au", "angstrom": "Å",
    "bar": "bar", "atmosphere": "atm", "barn": "b", "decibel": "dB", "neper": "Np", "percent": "\\%",
    "degree": "°", "arcminute": "′", "arcsecond": "″", "parsec": "pc", "mmHg": "mmHg", "torr": "Torr",
    "gauss": "G", "erg": "erg", "dyne": "dyn", "clight": "c", "electronmass": "m_e", "planckbar": "ℏ",
    "hectare": "ha", "bit": "bit", "byte": "B", "fm": "fm", "pm": "pm", "nm": "nm", "um": "μm", "mm": "mm",
    "cm": "cm", "dm": "dm", "m": "m", "km": "km", "as": "as", "fs": "fs", "ps": "ps", "ns": "ns",
    "us": "μs", "ms": "ms", "s": "s", "g": "g", "mg": "mg", "kg": "kg", "mol": "mol", "kmol": "kmol",
    "A": "A", "mA": "mA", "kA": "kA", "V": "V", "mV": "mV", "kV": "kV", "W": "W", "mW": "mW", "kW": "kW",
    "MW": "MW", "GW": "GW", "J": "J", "mJ": "mJ", "kJ": "kJ", "eV": "eV", "keV": "keV", "MeV": "MeV",
    "GeV": "GeV", "TeV": "TeV", "meV": "meV", "kWh": "kWh", "N": "N", "mN": "mN", "kN": "kN", "Pa": "Pa",
    "kPa": "kPa", "MPa": "MPa", "GPa": "GPa", "K": "K", "Hz": "Hz", "kHz": "kHz", "MHz": "MHz",
    "GHz": "GHz", "THz": "THz", "F": "F", "pF": "pF", "nF": "nF", "uF": "μF", "H": "H", "mH": "mH",
    "C": "C", "nC": "nC", "uC": "μC", "T": "T", "mT": "mT", "l": "L", "L": "L", "ml": "mL", "mL": "mL",
    "celcius": "°C", "cal": "cal", "kcal": "kcal", "kohm": "kΩ", "Mohm": "MΩ",
}  # fmt: skip
POWERS = {"square": "2", "squared": "2", "cubic": "3", "cubed": "3"}

_PART = re.compile(
    r"\\(?P<name>[A-Za-z]+)|\^\{(?P<group>[^{}]*)\}|\^(?P<one>\S)|(?P<mark>[./*~])|(?P<word>[^\\^./*~\s{}]+)"
)
_TO_THE = re.compile(r"\\tothe\s*\{([^{}]*)\}")
_NUMBER = re.compile(
    r"^\s*(?P<sign>[+-])?(?P<mantissa>[\d.,\s]*\d?)(?:\((?P<error>\d+)\))?"
    r"(?:\s*(?:\+-|\\pm)\s*(?P<pm>[\d.]+))?(?:[eEdD](?P<exponent>[+-]?\d+))?\s*$"
)


def number(source: str) -> str:
    """Return a number of \\num or \\SI as LaTeX: 1.2e-3 becomes 1.2 \\times 10^{-3}."""
    match = _NUMBER.match(source)
    if not match or not (match["mantissa"].strip() or match["exponent"]):
        return source
    text = (match["sign"] or "") + re.sub(r"\s+", "", match["mantissa"])
    if match["error"]:
        text += f"({match['error']})"
    if match["pm"]:
        text += rf" \pm {match['pm']}"
    if match["exponent"]:
        power = f"10^{{{match['exponent'].lstrip('+')}}}"
        text = rf"{text} \times {power}" if match["mantissa"].strip() else text + power
    return text


def unit(source: str) -> str:
    """Return a unit of \\si, \\unit, \\SI or \\qty as upright LaTeX; names that are not known stay words."""
    parts: list[str] = []
    prefix, pending_power, per = "", "", False

    def put(symbol: str, power: str) -> None:
        nonlocal prefix, pending_power, per
        exponent = power or pending_power
        if per:
            exponent = f"-{exponent or '1'}"
        body = rf"\mathrm{{{prefix}{symbol}}}"
        parts.append(f"{body}^{{{exponent}}}" if exponent else body)
        prefix, pending_power, per = "", "", False

    def raise_last(power: str) -> None:
        if not parts:
            return
        body, _, old = parts[-1].partition("}^{")
        parts[-1] = (body + "}" if old else body) + f"^{{{'-' if old.startswith('-') else ''}{power}}}"

    for match in _PART.finditer(_TO_THE.sub(r"^{\1}", source)):
        name = match["name"]
        if name == "per" or match["mark"] == "/":
            per = True
        elif name in PREFIXES:
            prefix = PREFIXES[name]
        elif name in ("square", "cubic"):
            pending_power = POWERS[name]
        elif name in ("squared", "cubed"):
            raise_last(POWERS[name])
        elif name in ("of", "highlight", "cancel"):
            continue
        elif name:
            put(UNITS.get(name, name), "")
        elif match["group"] or match["one"]:
            raise_last((match["group"] or match["one"]).lstrip("+"))
        elif match["word"]:
            put(match["word"], "")
    return r"\,".join(parts)
