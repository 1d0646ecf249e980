"""What a call costs: reserved at its upper bound before it leaves, settled with what the provider says."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_UP, Decimal
from typing import Any

from llm.types import ChatRequest, Reply
from monitoring.models import Batch

_PLACES = Decimal("0.00000001")
_MILLION = Decimal(1_000_000)
_PER_MESSAGE = 16  # tokens that a chat format adds to each message, generously


def upper_bound(request: ChatRequest, settings: Mapping[str, Any]) -> Decimal:
    """Return the most that a request may cost in USD: every two bytes a token, and the longest reply."""
    size = sum(len(message.content.encode()) // 2 + _PER_MESSAGE for message in request.messages)
    return price(settings, input_tokens=size, output_tokens=request.max_tokens)


def cost(reply: Reply, settings: Mapping[str, Any], *, otherwise: Decimal) -> Decimal:
    """Return what a reply cost in USD by the tokens that its provider counted; `otherwise` if it did not."""
    if settings.get("input_price") is None or settings.get("output_price") is None:
        return Decimal(0)
    if reply.input_tokens is None or reply.output_tokens is None:
        return otherwise
    return price(settings, input_tokens=reply.input_tokens, output_tokens=reply.output_tokens)


def price(settings: Mapping[str, Any], *, input_tokens: int, output_tokens: int) -> Decimal:
    """Return the price in USD of so many tokens, rounded up to 1e-8."""
    paid = Decimal(settings["input_price"]) * input_tokens + Decimal(settings["output_price"]) * output_tokens
    return (paid / _MILLION).quantize(_PLACES, rounding=ROUND_UP)


def book(
    batch: Batch, *, reserve: Decimal = Decimal(0), release: Decimal = Decimal(0), spend: Decimal = Decimal(0)
) -> None:
    """Move money in the books of a batch whose row the caller has locked.

    Computed here and not in SQL: SQLite would compute with floats, and its sums would drift past the budget.
    """
    batch.reserved = max(batch.reserved + reserve - release, Decimal(0)).quantize(_PLACES)
    batch.spent = (batch.spent + spend).quantize(_PLACES)
    batch.save(update_fields=["reserved", "spent"])
