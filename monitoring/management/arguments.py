"""Types of command-line arguments that several commands of monitoring share."""

from __future__ import annotations

import argparse
from decimal import Decimal, InvalidOperation


def words(text: str) -> list[str]:
    """Read words with commas between."""
    found = [word.strip() for word in text.split(",") if word.strip()]
    if not found:
        raise argparse.ArgumentTypeError("name at least one")
    return found


def amount(text: str) -> Decimal:
    """Read a budget in USD."""
    try:
        found = Decimal(text)
    except InvalidOperation as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no amount in USD") from error
    if not found.is_finite() or found <= 0 or found >= 1_000_000:
        raise argparse.ArgumentTypeError(f"a budget is more than 0 and less than a million USD, not {text}")
    return found.quantize(Decimal("0.000001"))
