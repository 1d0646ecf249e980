"""Costs are exact decimals, rounded up; the bound before a call is never below the charge after it."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm.pricing import FREE, Prices, UnknownPrice, actual_cost, cost, estimate_tokens, prices, upper_cost
from llm.types import ChatRequest, Message, Reply
from tests.llm.server import tokens

DEAR = Prices(Decimal("3"), Decimal("15"))


def request(text: str = "abcd", max_tokens: int = 100) -> ChatRequest:
    return ChatRequest(model="m", messages=[Message("user", text)], max_tokens=max_tokens)


@pytest.mark.parametrize(
    ("used", "price", "expect"),
    [
        ((1_000_000, 0), DEAR, "3"),
        ((0, 1_000_000), DEAR, "15"),
        ((1_234, 567), DEAR, "0.012207"),
        ((1, 0), Prices(Decimal("0.000001"), Decimal(0)), "0.00000001"),
        ((7, 7), FREE, "0"),
    ],
)
def test_a_cost_is_tokens_times_price_per_million(used: tuple[int, int], price: Prices, expect: str) -> None:
    assert cost(*used, price) == Decimal(expect)


def test_negative_counts_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 0"):
        cost(-1, 0, DEAR)


@pytest.mark.parametrize(
    ("given_prices", "message"),
    [
        ((None, Decimal(1)), "no input price is known for grok"),
        ((Decimal(1), None), "no output price is known for grok"),
        ((None, None), "no input and output price is known for grok"),
        ((Decimal(-1), Decimal(1)), "input price must be"),
        ((Decimal(1), Decimal("NaN")), "output price must be"),
        ((Decimal("Infinity"), Decimal(1)), "input price must be"),
    ],
)
def test_an_unknown_price_is_an_error(
    given_prices: tuple[Decimal | None, Decimal | None], message: str
) -> None:
    with pytest.raises(UnknownPrice, match=message):
        prices(input=given_prices[0], output=given_prices[1], model="grok")


def test_a_price_told_as_nothing_is_free() -> None:
    assert upper_cost(request(), prices(input=Decimal(0), output=Decimal(0))) == 0


def test_usage_that_was_not_told_is_charged_at_its_bound() -> None:
    asked = request()
    silent = Reply(text="x", finish_reason="stop")
    assert actual_cost(silent, asked, DEAR) == upper_cost(asked, DEAR)
    half = Reply(text="x", finish_reason="stop", input_tokens=1)
    assert actual_cost(half, asked, DEAR) == cost(1, 100, DEAR)
    told = Reply(text="x", finish_reason="stop", input_tokens=1, output_tokens=2)
    assert actual_cost(told, asked, DEAR) == cost(1, 2, DEAR)


@given(texts=st.lists(st.text(st.characters()), max_size=5))
def test_the_estimate_bounds_any_byte_level_tokeniser(texts: list[str]) -> None:
    messages = [Message("user", text) for text in texts]
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    assert estimate_tokens(messages) >= size >= sum(map(tokens, texts))


@given(
    st.integers(0, 10**7),
    st.integers(0, 10**7),
    st.decimals(0, 1000, places=6),
    st.decimals(0, 1000, places=6),
)
def test_a_cost_is_never_rounded_down(
    given_tokens: int, made: int, price_in: Decimal, price_out: Decimal
) -> None:
    exact = (given_tokens * price_in + made * price_out) / 1_000_000
    rounded = cost(given_tokens, made, Prices(price_in, price_out))
    assert exact <= rounded < exact + Decimal("0.00000001")
