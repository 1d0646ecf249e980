"""The scripted provider: answers, failures and delays as told, and a record of what was asked."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from llm.providers import BadProvider, Scripted, build
from llm.types import ChatRequest, Message, Provider, ProviderError, Reply


def ask(provider: Provider, *keys: str) -> list[Any]:
    """Ask once for each key, all at once; return texts and errors."""

    async def one(key: str) -> Any:
        try:
            reply = await provider.complete(ChatRequest(model="m", messages=[Message("user", key)], key=key))
        except Exception as error:
            return error
        return reply.text

    async def main() -> list[Any]:
        try:
            return await asyncio.gather(*map(one, keys))
        finally:
            await provider.aclose()

    return asyncio.run(main())


def test_a_list_is_said_line_by_line_and_then_ends() -> None:
    busy = ProviderError("busy", kind="rate_limit", retry_after=1)
    provider = Scripted(["one", busy, Reply(text="three", finish_reason="length")])
    first, second, third, fourth = ask(provider, "a", "b", "c", "d")
    assert (first, second, third) == ("one", busy, "three")
    assert isinstance(fourth, ProviderError)
    assert fourth.kind == "permanent"
    assert [request.key for request in provider.requests] == ["a", "b", "c", "d"]
    assert provider.closed


def test_a_list_can_begin_anew() -> None:
    assert ask(Scripted(["x", "y"], repeat=True), *"abcde") == ["x", "y", "x", "y", "x"]


def test_a_function_answers_by_what_is_asked() -> None:
    async def slow(request: ChatRequest) -> str:
        await asyncio.sleep(0)
        return request.key.upper()

    assert ask(Scripted(lambda request: request.key * 2), "a", "b") == ["aa", "bb"]
    assert ask(Scripted(slow), "a", "b") == ["A", "B"]


def test_a_delay_keeps_requests_in_flight() -> None:
    provider = Scripted(["x"], repeat=True, delay=0.02)
    ask(provider, *"abcdef")
    assert (provider.most_in_flight, provider.in_flight) == (6, 0)


def test_its_replies_tell_usage_model_and_latency() -> None:
    request = ChatRequest(model="m", messages=[Message("user", "abc")])
    reply = asyncio.run(Scripted(["xy"]).complete(request))
    assert (reply.served_model, reply.finish_reason) == ("m", "stop")
    assert reply.input_tokens is not None
    assert reply.output_tokens is not None
    assert reply.input_tokens >= 3
    assert reply.output_tokens >= 2


@pytest.mark.parametrize(
    ("options", "answers"),
    [
        ({"reply": "x"}, ["x", "x", "x"]),
        ({"replies": ["x", "y"], "repeat": True}, ["x", "y", "x"]),
        ({"by_key": {"a": "1", "b": "2", "c": "3"}, "delay": 0.001}, ["1", "2", "3"]),
    ],
)
def test_a_script_can_be_plain_data(options: dict[str, Any], answers: list[str]) -> None:
    assert ask(build("scripted", options=options), "a", "b", "c") == answers


def test_a_key_without_an_answer_is_a_permanent_error() -> None:
    [error] = ask(build("scripted", options={"by_key": {}}), "k")
    assert isinstance(error, ProviderError)
    assert error.kind == "permanent"
    assert "'k'" in str(error)


@pytest.mark.parametrize(
    "options",
    [{}, {"reply": "a", "replies": []},
     {"reply": 1}, {"replies": [1]}, {"by_key": []}, {"reply": "a", "x": 1},
     {"reply": "a", "delay": "1"}],
)  # fmt: skip
def test_a_wrong_script_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(BadProvider):
        build("scripted", options=options)
