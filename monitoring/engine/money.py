"""The books of a batch: money is reserved before a call leaves, at its upper bound, and settled after it."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from llm import pricing
from llm.types import ChatRequest, Reply
from monitoring.models import Batch

_PLACES = Decimal("0.00000001")


def upper_bound(request: ChatRequest, settings: Mapping[str, Any]) -> Decimal:
    """Return the most that a request of a run with these settings may cost, in USD."""
    return pricing.upper_cost(request, _prices(settings))


def actual(reply: Reply, request: ChatRequest, settings: Mapping[str, Any]) -> Decimal:
    """Return what a reply cost, in USD."""
    return pricing.actual_cost(reply, request, _prices(settings))


def book(
    batch: Batch,
    *,
    reserve: Decimal = Decimal(0),
    release: Decimal = Decimal(0),
    spend: Decimal = Decimal(0),
) -> None:
    """Move money in the books of a batch whose row the caller has locked.

    Computed here and not in SQL: SQLite would compute with floats, and its sums would drift past the budget.
    """
    batch.reserved = max(batch.reserved + reserve - release, Decimal(0)).quantize(_PLACES)
    batch.spent = (batch.spent + spend).quantize(_PLACES)
    batch.save(update_fields=["reserved", "spent"])


def _prices(settings: Mapping[str, Any]) -> pricing.Prices:
    if settings["provider"] == "scripted":
        return pricing.FREE
    told = {
        name: None if settings[f"{name}_price"] is None else Decimal(settings[f"{name}_price"])
        for name in ("input", "output")
    }
    return pricing.prices(input=told["input"], output=told["output"], model=settings["model"])
