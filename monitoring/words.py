"""Numbers in words, for pages."""

from __future__ import annotations

from decimal import Decimal


def duration(seconds: float) -> str:
    """Return a length of time as people say it: "about 3 minutes"."""
    if seconds < 10:
        return "a few seconds"
    if seconds < 90:
        return f"about {10 * round(seconds / 10)} seconds"
    if seconds < 90 * 60:
        return f"about {round(seconds / 60)} minutes"
    if seconds < 36 * 3600:
        hours = round(seconds / 3600)
        return f"about {hours} hours"
    return f"about {round(seconds / 86400)} days"


def usd(amount: Decimal) -> str:
    """Return an amount of money, with as many places as it takes to show that it is more than nothing."""
    if amount == 0:
        return "0 USD"
    for places in (2, 4, 6):
        text = f"{amount:,.{places}f}"
        if Decimal(text.replace(",", "")) != 0:
            return f"{text} USD"
    return "less than 0.000001 USD"


def plain(amount: Decimal | None) -> str:
    """Return a number without trailing zeros and without an exponent."""
    return "" if amount is None else f"{amount.normalize():f}"


def rate(per_second: float) -> str:
    """Return a rate of calls with a unit in which it is easily read."""
    number, unit = (per_second, "second") if per_second >= 1 else (max(1, per_second * 60), "minute")
    return f"{number:.0f} call{'' if round(number) == 1 else 's'} a {unit}"
