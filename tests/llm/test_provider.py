"""The OpenAI-compatible provider against a real local server: one request per call, every failure typed."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import traceback
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from llm.providers import PROVIDERS, BadProvider, build
from llm.providers.openai_compatible import OpenAICompatible
from llm.types import ChatRequest, Message, ProviderError, Reply
from tests.llm.server import NO_ERROR, Scenario, Server, conversation_key, serving, tokens

KEY = "sk-test/abcDEF+123456789"
REQUEST = ChatRequest(
    model="m-1", messages=[Message("system", "You check."), Message("user", "Steps: (1) x")], timeout=5.0
)


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def server(running: Server) -> Server:
    running.reset(Scenario())
    return running


def ask(server: Server, *requests: ChatRequest, key: str = KEY) -> list[Reply | ProviderError]:
    """Send the requests one after the other and return the replies or errors."""

    async def work(provider: OpenAICompatible) -> list[Reply | ProviderError]:
        results: list[Reply | ProviderError] = []
        for request in requests:
            try:
                results.append(await provider.complete(request))
            except ProviderError as error:
                results.append(error)
        return results

    return with_provider(server, work, key=key)


def with_provider(
    server: Server, work: Callable[[OpenAICompatible], Awaitable[Any]], *, key: str = KEY, **options: Any
) -> Any:
    async def main() -> Any:
        provider = OpenAICompatible(base_url=server.url, key=key, **options)
        try:
            return await work(provider)
        finally:
            await provider.aclose()

    return asyncio.run(main())


def reply_of(server: Server, **changes: Any) -> Reply:
    [result] = ask(server, dataclasses.replace(REQUEST, **changes))
    assert isinstance(result, Reply), result
    return result


def error_of(server: Server, act: dict[str, Any], **changes: Any) -> ProviderError:
    server.use(Scenario(script=[act]))
    [result] = ask(server, dataclasses.replace(REQUEST, **changes))
    assert isinstance(result, ProviderError), result
    return result


async def arrived(server: Server, *, within: float = 5.0) -> None:
    """Wait until a request is in flight at the server."""
    async with asyncio.timeout(within):
        while not (await asyncio.to_thread(server.state)).in_flight:
            await asyncio.sleep(0.01)


def test_it_returns_the_answer_with_its_circumstances(server: Server) -> None:
    server.use(Scenario(latency=0.05))
    reply = reply_of(server)
    assert (reply.text, reply.finish_reason, reply.served_model) == (NO_ERROR, "stop", "m-1-served")
    assert reply.input_tokens == tokens("You check.") + tokens("Steps: (1) x")
    assert reply.output_tokens == tokens(NO_ERROR)
    assert 50 <= reply.latency_ms < 5000
    assert reply.headers == {"x-request-id": "req-1"}


def test_it_sends_exactly_the_settings_that_were_made(server: Server) -> None:
    reply_of(server)
    sent = server.state().last_request
    assert sent == {
        "model": "m-1",
        "messages": [
            {"role": "system", "content": "You check."},
            {"role": "user", "content": "Steps: (1) x"},
        ],
        "temperature": 0.0,
        "max_tokens": 4000,
    }
    reply_of(server, temperature=None, max_tokens=7, reasoning_effort="low", seed=3, json_mode=True)
    sent = server.state().last_request
    del sent["messages"]
    assert sent == {
        "model": "m-1",
        "max_tokens": 7,
        "reasoning_effort": "low",
        "seed": 3,
        "response_format": {"type": "json_object"},
    }
    state = server.state()
    assert state.last_headers["authorization"] == f"Bearer {KEY}"
    assert state.paid_by_key == {
        conversation_key([{"role": m.role, "content": m.content} for m in REQUEST.messages]): 2
    }


def test_the_bound_of_output_has_the_name_that_the_endpoint_wants(server: Server) -> None:
    with_provider(server, lambda p: p.complete(REQUEST), token_parameter="max_completion_tokens")
    assert "max_completion_tokens" in server.state().last_request
    assert OpenAICompatible(key=KEY)._token_parameter == "max_completion_tokens"


def test_it_tells_an_endpoint_nothing_from_the_environment(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY"):
        monkeypatch.setenv(name, "from-the-environment")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    ask(server, REQUEST, key="")
    assert server.state().paid == 1
    assert "from-the-environment" not in str(server.state().last_headers)


@pytest.mark.parametrize(
    ("act", "text", "finish_reason"),
    [
        ({"do": "truncate"}, NO_ERROR[: len(NO_ERROR) // 2], "length"),
        ({"do": "filter"}, "", "content_filter"),
        ({"do": "refuse"}, "I cannot help with that.", "refusal"),
        ({"do": "empty"}, "", "stop"),
        ({"do": "status", "status": 400, "code": "content_filter"}, "", "content_filter"),
        (
            {"message": {"content": [{"type": "thinking", "thinking": []}, {"type": "text", "text": "T"}]}},
            "T",
            "stop",
        ),
        ({"message": {"content": {"odd": 1}}}, "", "stop"),
        ({"finish_reason": None}, NO_ERROR, ""),
        ({"finish_reason": "x" * 99}, NO_ERROR, "x" * 40),
    ],
)
def test_how_an_answer_ended_is_kept(
    server: Server, act: dict[str, Any], text: str, finish_reason: str
) -> None:
    server.use(Scenario(script=[act]))
    reply = reply_of(server)
    assert (reply.text, reply.finish_reason) == (text, finish_reason)


@pytest.mark.parametrize(
    ("usage", "expect"),
    [
        ("omit", (None, None)),
        ("absurd", (None, None)),
        ("zero", (0, 0)),
    ],
)
def test_usage_that_is_not_credible_is_not_told(server: Server, usage: str, expect: tuple[Any, Any]) -> None:
    server.use(Scenario(usage=usage))
    reply = reply_of(server)
    assert (reply.input_tokens, reply.output_tokens) == expect


@pytest.mark.parametrize(
    ("act", "kind", "status", "wait"),
    [
        ({"status": 429}, "rate_limit", 429, None),
        ({"status": 429, "retry_after": 7}, "rate_limit", 429, 7.0),
        ({"status": 429, "headers": {"retry-after-ms": "250"}}, "rate_limit", 429, 0.25),
        ({"status": 429, "headers": {"x-ratelimit-reset-tokens": "6m0s"}}, "rate_limit", 429, 360.0),
        ({"status": 429, "code": "insufficient_quota", "retry_after": 7}, "permanent", 429, None),
        ({"status": 500}, "transient", 500, None),
        ({"status": 502, "body": "<html>"}, "transient", 502, None),
        ({"status": 503, "retry_after": 3}, "transient", 503, 3.0),
        ({"status": 529}, "transient", 529, None),
        ({"status": 408}, "transient", 408, None),
        ({"status": 409}, "transient", 409, None),
        ({"status": 400, "code": "context_length_exceeded"}, "permanent", 400, None),
        ({"status": 401}, "permanent", 401, None),
        ({"status": 402}, "permanent", 402, None),
        ({"status": 403}, "permanent", 403, None),
        ({"status": 404, "retry_after": 9}, "permanent", 404, None),
        ({"status": 413}, "permanent", 413, None),
        ({"status": 422}, "permanent", 422, None),
        ({"status": 501}, "permanent", 501, None),
        ({"status": 307, "headers": {"Location": "http://127.0.0.1:9/elsewhere"}}, "permanent", 307, None),
    ],
)
def test_a_status_decides_what_follows(
    server: Server, act: dict[str, Any], kind: str, status: int, wait: float | None
) -> None:
    error = error_of(server, {"do": "status", **act})
    assert (error.kind, error.status, error.retry_after) == (kind, status, wait)
    assert str(status) in str(error)
    assert server.state().requests == 1


def test_a_date_to_retry_after_is_understood(server: Server) -> None:
    error = error_of(server, {"do": "status", "status": 429, "retry_date": 30})
    assert error.retry_after is not None
    assert 27 <= error.retry_after <= 30


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        ({"error": {"message": "slow down", "code": 429}}, "rate_limit", 429),
        ({"error": {"message": "no credit", "code": "402"}}, "permanent", 402),
        ({"error": "upstream broke"}, "transient", 500),
        (
            {"choices": [{"error": {"code": 502, "message": "cut"}, "message": {"content": "a"}}]},
            "transient",
            502,
        ),
    ],
)
def test_an_error_under_status_200_is_an_error(server: Server, body: Any, kind: str, status: int) -> None:
    error = error_of(server, {"do": "status", "status": 200, "body": body})
    assert (error.kind, error.status) == (kind, status)


@pytest.mark.parametrize("kind", ["drop", "not_json", "not_a_chat", "cut_body"])
def test_a_broken_answer_is_transient(server: Server, kind: str) -> None:
    error = error_of(server, {"do": kind})
    assert error.kind == "transient"
    assert "no answer within" not in str(error)
    assert server.state().requests == 1


@pytest.mark.parametrize("act", [{"do": "hang", "seconds": 1.0}, {"do": "trickle", "seconds": 1.5}])
def test_the_timeout_bounds_the_whole_request(server: Server, act: dict[str, Any]) -> None:
    error = error_of(server, act, timeout=0.3)
    assert error.kind == "transient"
    assert "0.3 s" in str(error)


def test_an_endpoint_that_does_not_listen_is_transient(server: Server) -> None:
    [error] = ask(Server(port=9), REQUEST)
    assert isinstance(error, ProviderError)
    assert error.kind == "transient"
    assert "Connect" in str(error)


def test_what_cannot_be_sent_is_permanent(server: Server) -> None:
    [error] = ask(server, dataclasses.replace(REQUEST, messages=[Message("user", "half \ud83d")]))
    assert isinstance(error, ProviderError)
    assert error.kind == "permanent"
    assert server.state().requests == 0


def test_a_cancelled_request_is_cancelled_and_the_next_one_works(server: Server) -> None:
    server.use(Scenario(script=[{"do": "hang", "seconds": 0.5}]))

    async def work(provider: OpenAICompatible) -> Reply:
        task = asyncio.create_task(provider.complete(REQUEST))
        await arrived(server)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await provider.complete(REQUEST)

    assert with_provider(server, work).text == NO_ERROR


def test_two_hundred_requests_are_in_flight_at_once(server: Server) -> None:
    server.use(Scenario(hold_until=200))

    async def work(provider: OpenAICompatible) -> list[Reply]:
        return await asyncio.gather(*(provider.complete(REQUEST) for _ in range(200)))

    replies = with_provider(server, work)
    state = server.settled()
    assert (len(replies), state.paid) == (200, 200)
    assert state.most_in_flight == 200


@pytest.mark.parametrize(
    "act",
    [
        {"do": "status", "status": 401, "body": {"error": {"message": f"wrong key {KEY}", "code": "x"}}},
        {"do": "status", "status": 500, "body": f"{'a' * 480}{KEY}{'b' * 9000}"},
        {"do": "status", "status": 200, "body": {"data": ["sk-test%2FabcDEF%2B123456789"]}},
    ],
)
def test_the_key_is_in_no_error_log_or_repr(
    server: Server, act: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    error = error_of(server, act)
    shown = "".join(traceback.format_exception(error)) + repr(error) + repr(vars(error)) + caplog.text
    shown += repr(OpenAICompatible(base_url=server.url, key=KEY))
    for secret in (KEY, "abcDEF", "abcDEF%2B"):
        assert secret not in shown
    assert len(str(error)) <= 500
    assert error.__context__ is None
    assert error.__cause__ is None


@pytest.mark.parametrize(
    "base_url",
    [
        "ftp://127.0.0.1/v1", "file:///etc/passwd", "127.0.0.1:8000", "http://", "https:///v1", "http://h:99999/",
        "http://user:secret@host/v1", "http://host/v1?key=secret", "http://host/#x", "http://ho st/",
        "javascript:0", "http://[::1", "http://höst/v1",
    ],
)  # fmt: skip
def test_it_refuses_an_address_that_is_none(base_url: str) -> None:
    with pytest.raises(BadProvider) as refused:
        build("openai_compatible", base_url=base_url, key=KEY)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("key", ["sk 1", "sk\n1", "schlüssel", "\x00"])
def test_it_refuses_a_key_that_is_none_without_showing_it(key: str) -> None:
    with pytest.raises(BadProvider) as refused:
        build("openai_compatible", base_url="http://127.0.0.1:1/v1", key=key)
    assert key not in str(refused.value)


def test_providers_are_made_by_name() -> None:
    made = build("openai_compatible", base_url="http://127.0.0.1:1/v1/", key=KEY, options={"connections": 5})
    assert repr(made) == "<OpenAICompatible http://127.0.0.1:1/v1>"
    assert repr(build("scripted", options={"reply": "x"})).startswith("<llm.providers.scripted.Scripted")
    assert PROVIDERS == ("openai_compatible", "anthropic", "google", "scripted")
    with pytest.raises(
        BadProvider,
        match="no provider named 'openia'; there are: openai_compatible, anthropic, google, scripted",
    ):
        build("openia")
