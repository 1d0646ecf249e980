"""What a call costs: before it, at most, from what is sent and allowed; after it, from what was used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal

from llm.types import ChatRequest, Message, Reply

_MILLION = Decimal(1_000_000)
_PLACES = Decimal("0.00000001")  # what the columns of cost hold
# Byte-level tokenisers spend at most one token on a byte, so bytes bound tokens whatever the text.
_TOKENS_PER_MESSAGE = 16
_TOKENS_PER_CONVERSATION = 32


class UnknownPrice(Exception):
    """The price of a call cannot be told; the call must not be made."""


@dataclass(frozen=True)
class Prices:
    """USD per million tokens."""

    input: Decimal
    output: Decimal

    def __post_init__(self) -> None:
        for name in ("input", "output"):
            price = getattr(self, name)
            if not isinstance(price, Decimal) or not price.is_finite() or price < 0:
                raise UnknownPrice(f"the {name} price must be a finite decimal of at least 0, not {price!r}")


FREE = Prices(Decimal(0), Decimal(0))


def prices(*, input: Decimal | None, output: Decimal | None, model: str = "") -> Prices:
    """Return both prices, or raise UnknownPrice naming the model when one is not told."""
    if input is None or output is None:
        missing = " and ".join(
            name for name, price in (("input", input), ("output", output)) if price is None
        )
        raise UnknownPrice(f"no {missing} price is known for {model or 'the model'}: set it, or set 0")
    return Prices(input, output)


def estimate_tokens(messages: Sequence[Message]) -> int:
    """Return an upper bound of a conversation's tokens: its bytes in UTF-8, and the frame of each message."""
    size = sum(len(m.content.encode("utf-8", "surrogatepass")) for m in messages)
    return size + _TOKENS_PER_MESSAGE * len(messages) + _TOKENS_PER_CONVERSATION


def cost(input_tokens: int, output_tokens: int, prices: Prices) -> Decimal:
    """Return the USD of so many tokens, rounded up to the eighth place so that a sum never falls short."""
    if input_tokens < 0 or output_tokens < 0:
        raise ValueError("token counts are at least 0")
    exact = (input_tokens * prices.input + output_tokens * prices.output) / _MILLION
    return exact.quantize(_PLACES, rounding=ROUND_CEILING)


def upper_cost(request: ChatRequest, prices: Prices) -> Decimal:
    """Return the most that a request can cost: all that is sent, and as much output as is allowed."""
    return cost(estimate_tokens(request.messages), max(0, request.max_tokens), prices)


def actual_cost(reply: Reply, request: ChatRequest, prices: Prices) -> Decimal:
    """Return what a reply cost; where the provider did not say how much, the upper bound of that part."""
    bound = estimate_tokens(request.messages)
    used_input = reply.input_tokens if reply.input_tokens is not None else bound
    used_output = reply.output_tokens if reply.output_tokens is not None else max(0, request.max_tokens)
    return cost(used_input, used_output, prices)
