"""Anthropic's and Google's own protocols against a real local server: one request per call, failures typed."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import subprocess
import sys
import traceback
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from llm.providers import BadProvider, build, check
from llm.types import ChatRequest, Message, Provider, ProviderError, Reply
from tests.llm.server import NO_ERROR, Scenario, Server, conversation_key, serving, tokens

KEY = "sk-test/abcDEF+123456789"
REQUEST = ChatRequest(
    model="m-1", messages=[Message("system", "You check."), Message("user", "Steps: (1) x")], timeout=5.0
)
BOTH = pytest.mark.parametrize("name", ["anthropic", "google"])


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def server(running: Server) -> Server:
    running.reset(Scenario())
    return running


def with_provider(
    name: str, server: Server, work: Callable[[Provider], Awaitable[Any]], **options: Any
) -> Any:
    async def main() -> Any:
        provider = build(name, base_url=server.root, key=KEY, options=options)
        try:
            return await work(provider)
        finally:
            await provider.aclose()

    return asyncio.run(main())


def ask(name: str, server: Server, request: ChatRequest, **options: Any) -> Reply | ProviderError:
    async def work(provider: Provider) -> Reply | ProviderError:
        try:
            return await provider.complete(request)
        except ProviderError as error:
            return error

    result: Reply | ProviderError = with_provider(name, server, work, **options)
    return result


def reply_of(name: str, server: Server, options: dict[str, Any] | None = None, **changes: Any) -> Reply:
    result = ask(name, server, dataclasses.replace(REQUEST, **changes), **(options or {}))
    assert isinstance(result, Reply), result
    return result


def error_of(name: str, server: Server, act: dict[str, Any], **changes: Any) -> ProviderError:
    server.use(Scenario(script=[act]))
    result = ask(name, server, dataclasses.replace(REQUEST, **changes))
    assert isinstance(result, ProviderError), result
    return result


@BOTH
def test_it_returns_the_answer_with_its_circumstances(name: str, server: Server) -> None:
    server.use(Scenario(latency=0.05, key=KEY))
    reply = reply_of(name, server)
    assert (reply.text, reply.finish_reason, reply.served_model) == (NO_ERROR, "stop", "m-1-served")
    assert reply.input_tokens == tokens("You check.") + tokens("Steps: (1) x")
    assert reply.output_tokens == tokens(NO_ERROR)
    assert 50 <= reply.latency_ms < 5000
    assert reply.headers == {"x-request-id": "req-1"}


@BOTH
def test_a_whole_exchange_is_sent_as_it_is(name: str, server: Server) -> None:
    messages = [
        Message("system", "A."),
        Message("system", "B."),
        Message("user", "q"),
        Message("assistant", "a"),
        Message("user", "again"),
    ]
    reply_of(name, server, messages=messages)
    sent = [("system", "A.\n\nB."), ("user", "q"), ("assistant", "a"), ("user", "again")]
    key = conversation_key([{"role": role, "content": content} for role, content in sent])
    assert server.state().paid_by_key == {key: 1}


def test_anthropic_is_sent_exactly_the_settings_that_were_made(server: Server) -> None:
    reply_of("anthropic", server)
    assert server.state().last_request == {
        "model": "m-1",
        "system": "You check.",
        "messages": [{"role": "user", "content": "Steps: (1) x"}],
        "temperature": 0.0,
        "max_tokens": 4000,
    }
    reply_of("anthropic", server, messages=[Message("user", "x")], temperature=None, max_tokens=7)
    assert server.state().last_request == {
        "model": "m-1",
        "messages": [{"role": "user", "content": "x"}],
        "max_tokens": 7,
    }


@pytest.mark.parametrize(
    ("effort", "options", "sent"),
    [
        ("none", {}, {"thinking": {"type": "disabled"}}),
        ("high", {}, {"thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}}),
        (None, {"thinking_tokens": 2000}, {"thinking": {"type": "enabled", "budget_tokens": 2000}}),
    ],
)
def test_anthropic_thinks_as_set(
    server: Server, effort: str | None, options: dict[str, Any], sent: dict[str, Any]
) -> None:
    reply_of("anthropic", server, options, temperature=None, reasoning_effort=effort)
    body = server.state().last_request
    assert {name: body[name] for name in ("thinking", "output_config") if name in body} == sent
    assert "temperature" not in body


def test_google_is_sent_exactly_the_settings_that_were_made(server: Server) -> None:
    reply_of("google", server)
    state = server.state()
    assert state.last_path == "/v1beta/models/m-1:generateContent"
    assert state.last_request == {
        "systemInstruction": {"parts": [{"text": "You check."}]},
        "contents": [{"role": "user", "parts": [{"text": "Steps: (1) x"}]}],
        "generationConfig": {"temperature": 0.0, "maxOutputTokens": 4000},
    }
    reply_of("google", server, temperature=None, max_tokens=7, seed=3, json_mode=True)
    assert server.state().last_request["generationConfig"] == {
        "maxOutputTokens": 7,
        "seed": 3,
        "responseMimeType": "application/json",
    }


@pytest.mark.parametrize(
    ("effort", "options", "sent"),
    [
        ("none", {}, {"thinkingbudget": 0}),
        ("low", {}, {"thinkinglevel": "LOW"}),
        (None, {"thinking_tokens": 0}, {"thinkingbudget": 0}),
        (None, {"thinking_tokens": 99}, {"thinkingbudget": 99}),
    ],
)
def test_google_thinks_as_set(
    server: Server, effort: str | None, options: dict[str, Any], sent: dict[str, Any]
) -> None:
    reply_of("google", server, options, reasoning_effort=effort)
    config = server.state().last_request["generationConfig"]["thinkingConfig"]
    # Google reads names in either spelling, and its SDK writes both.
    assert {name.replace("_", "").lower(): value for name, value in config.items()} == sent


@pytest.mark.parametrize(
    ("name", "changes", "options", "why"),
    [
        ("anthropic", {"seed": 1}, {}, "takes no seed"),
        ("anthropic", {"json_mode": True}, {}, "no JSON mode"),
        ("anthropic", {"reasoning_effort": "minimal"}, {}, "effort is one of none, low"),
        ("anthropic", {"reasoning_effort": "low"}, {}, "no temperature with thinking"),
        ("anthropic", {}, {"thinking_tokens": 2000}, "no temperature with thinking"),
        ("anthropic", {"temperature": 1.5}, {}, "from 0 to 1"),
        ("anthropic", {"temperature": None}, {"thinking_tokens": 1023}, "at least 1024"),
        ("anthropic", {"temperature": None}, {"thinking_tokens": 4000}, "less than max_tokens"),
        ("anthropic", {"temperature": None, "reasoning_effort": "low"}, {"thinking_tokens": 2000}, "either"),
        ("google", {"reasoning_effort": "max"}, {}, "effort is one of none, minimal"),
        ("google", {"temperature": 2.5}, {}, "from 0 to 2"),
        ("google", {"seed": 2**31}, {}, "32 bits"),
        ("google", {"reasoning_effort": "low"}, {"thinking_tokens": 5}, "either"),
        ("google", {}, {"thinking_tokens": -1}, "at least 0"),
    ],
)
def test_a_setting_that_cannot_be_carried_is_refused_before_and_never_left_out(
    server: Server, name: str, changes: dict[str, Any], options: dict[str, Any], why: str
) -> None:
    request = dataclasses.replace(REQUEST, **changes)
    with pytest.raises(BadProvider, match=why):
        check(name, request, options=options)
    error = ask(name, server, request, **options)
    assert isinstance(error, ProviderError)
    assert error.kind == "permanent"
    assert server.state().requests == 0


def test_settings_that_can_be_carried_pass_the_check() -> None:
    probe = dataclasses.replace(REQUEST, messages=())
    for name in ("openai_compatible", "anthropic", "google", "scripted"):
        check(name, probe)
    check("openai_compatible", dataclasses.replace(probe, seed=1, json_mode=True, reasoning_effort="low"))
    check("google", dataclasses.replace(probe, seed=1, json_mode=True, reasoning_effort="low"))
    with pytest.raises(BadProvider, match="no provider named 'x'"):
        check("x", probe)
    with pytest.raises(BadProvider, match="whole number"):
        check("google", probe, options={"thinking_tokens": "5"})


@BOTH
@pytest.mark.parametrize(
    ("act", "text", "ends"),
    [
        ({"do": "truncate"}, NO_ERROR[: len(NO_ERROR) // 2], ("length", "length")),
        ({"do": "filter"}, "", ("refusal", "content_filter")),
        ({"do": "empty"}, "", ("stop", "stop")),
        ({"finish_reason": "ODD_END" * 9}, NO_ERROR, (("ODD_END" * 9)[:40], ("odd_end" * 9)[:40])),
        ({"finish_reason": None}, NO_ERROR, ("", "")),
    ],
)
def test_how_an_answer_ended_is_kept(
    name: str, server: Server, act: dict[str, Any], text: str, ends: tuple[str, str]
) -> None:
    server.use(Scenario(script=[act]))
    reply = reply_of(name, server)
    assert (reply.text, reply.finish_reason) == (text, ends[name == "google"])


def test_a_refusal_is_told_in_the_words_of_each(server: Server) -> None:
    server.use(Scenario(script=[{"do": "refuse"}, {"do": "refuse"}]))
    refused = reply_of("anthropic", server)
    assert (refused.text, refused.finish_reason) == ("I cannot help with that.", "refusal")
    refused = reply_of("google", server)
    assert (refused.text, refused.finish_reason) == ("", "content_filter")


def test_a_prompt_that_google_blocks_is_filtered(server: Server) -> None:
    body = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 9}}
    server.use(Scenario(script=[{"do": "status", "status": 200, "body": body}]))
    reply = reply_of("google", server)
    assert (reply.text, reply.finish_reason, reply.input_tokens, reply.output_tokens) == (
        "",
        "content_filter",
        9,
        0,
    )


@pytest.mark.parametrize(
    ("name", "act"),
    [
        (
            "anthropic",
            {
                "message": {
                    "content": [
                        {"type": "thinking", "thinking": "so", "signature": "x"},
                        {"type": "redacted_thinking", "data": "x"},
                        {"type": "text", "text": "a"},
                        {"type": "text", "text": "b"},
                    ]
                }
            },
        ),
        (
            "google",
            {
                "message": {
                    "content": {"parts": [{"thought": True, "text": "so"}, {"text": "a"}, {"text": "b"}]}
                }
            },
        ),
    ],
)
def test_thinking_is_no_part_of_the_text(server: Server, name: str, act: dict[str, Any]) -> None:
    server.use(Scenario(script=[act]))
    assert reply_of(name, server).text == "ab"


@BOTH
@pytest.mark.parametrize(
    ("usage", "told"), [("omit", (None, None)), ("absurd", (None, None)), ("zero", (0, 0))]
)
def test_usage_that_is_not_credible_is_not_told(
    name: str, server: Server, usage: str, told: tuple[Any, Any]
) -> None:
    server.use(Scenario(usage=usage))
    reply = reply_of(name, server)
    assert (reply.input_tokens, reply.output_tokens) == told


@pytest.mark.parametrize(
    ("name", "usage", "told"),
    [
        (
            "anthropic",
            {"input_tokens": 5, "cache_creation_input_tokens": 3, "cache_read_input_tokens": 2, "output_tokens": 4},
            (10, 4),
        ),
        ("anthropic", {"input_tokens": 5, "cache_read_input_tokens": -2, "output_tokens": 4}, (None, 4)),
        ("anthropic", {"input_tokens": 5, "cache_read_input_tokens": None, "output_tokens": 4.5}, (5, None)),
        ("google", {"promptTokenCount": 5, "candidatesTokenCount": 3, "thoughtsTokenCount": 20}, (5, 23)),
        ("google", {"promptTokenCount": 5, "thoughtsTokenCount": 20, "totalTokenCount": 25}, (5, 20)),
        ("google", {"promptTokenCount": 5, "candidatesTokenCount": 3, "totalTokenCount": 99}, (5, 94)),
        ("google", {"promptTokenCount": 5}, (5, 0)),
        ("google", {"promptTokenCount": 5, "candidatesTokenCount": "3"}, (5, None)),
        ("google", {"candidatesTokenCount": 3}, (None, None)),
    ],
)  # fmt: skip
def test_everything_that_is_charged_is_counted(
    server: Server, name: str, usage: dict[str, Any], told: tuple[Any, Any]
) -> None:
    field = "usage" if name == "anthropic" else "usageMetadata"
    server.use(Scenario(script=[{"body_fields": {field: usage}}]))
    reply = reply_of(name, server)
    assert (reply.input_tokens, reply.output_tokens) == told


@BOTH
@pytest.mark.parametrize(
    ("act", "kind", "status", "wait"),
    [
        ({"status": 429}, "rate_limit", 429, None),
        ({"status": 429, "retry_after": 7}, "rate_limit", 429, 7.0),
        ({"status": 500}, "transient", 500, None),
        ({"status": 502, "body": "<html>"}, "transient", 502, None),
        ({"status": 503, "retry_after": 3}, "transient", 503, 3.0),
        ({"status": 504}, "transient", 504, None),
        ({"status": 529, "retry_after": 2}, "transient", 529, 2.0),
        ({"status": 408}, "transient", 408, None),
        ({"status": 400}, "permanent", 400, None),
        ({"status": 401}, "permanent", 401, None),
        ({"status": 402}, "permanent", 402, None),
        ({"status": 403}, "permanent", 403, None),
        ({"status": 404, "retry_after": 9}, "permanent", 404, None),
        ({"status": 413}, "permanent", 413, None),
        ({"status": 307, "headers": {"Location": "http://127.0.0.1:9/elsewhere"}}, "permanent", 307, None),
    ],
)
def test_a_status_decides_what_follows(
    name: str, server: Server, act: dict[str, Any], kind: str, status: int, wait: float | None
) -> None:
    error = error_of(name, server, {"do": "status", **act})
    assert (error.kind, error.status, error.retry_after) == (kind, status, wait)
    assert server.state().requests == 1


def test_google_asks_for_patience_in_the_body(server: Server) -> None:
    detail = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}
    body = {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": [{"@type": "x"}, detail]}}
    error = error_of("google", server, {"do": "status", "status": 429, "body": body})
    assert (error.kind, error.retry_after) == ("rate_limit", 34.5)


@pytest.mark.parametrize(
    ("error_type", "kind", "status"),
    [
        ("overloaded_error", "transient", 529),
        ("rate_limit_error", "rate_limit", 429),
        ("invalid_request_error", "permanent", 400),
        ("some_new_error", "transient", 500),
    ],
)
def test_an_error_of_anthropic_under_status_200_is_an_error(
    server: Server, error_type: str, kind: str, status: int
) -> None:
    body = {"type": "error", "error": {"type": error_type, "message": "m"}}
    error = error_of("anthropic", server, {"do": "status", "status": 200, "body": body})
    assert (error.kind, error.status) == (kind, status)


@BOTH
@pytest.mark.parametrize("act", ["drop", "not_json", "not_a_chat", "cut_body"])
def test_a_broken_answer_is_transient_and_not_asked_for_again(name: str, server: Server, act: str) -> None:
    assert error_of(name, server, {"do": act}).kind == "transient"
    assert server.state().requests == 1


@BOTH
@pytest.mark.parametrize("act", [{"do": "hang", "seconds": 1.0}, {"do": "trickle", "seconds": 1.5}])
def test_the_timeout_bounds_the_whole_request(name: str, server: Server, act: dict[str, Any]) -> None:
    error = error_of(name, server, act, timeout=0.3)
    assert error.kind == "transient"
    assert "0.3 s" in str(error)


@BOTH
def test_an_endpoint_that_does_not_listen_is_transient(name: str) -> None:
    error = ask(name, Server(port=9), REQUEST)
    assert isinstance(error, ProviderError)
    assert error.kind == "transient"
    assert "Connect" in str(error)


@BOTH
@pytest.mark.parametrize(
    "messages",
    [[Message("user", "half \ud83d")], [Message("user", "q"), Message("system", "late")]],
)
def test_what_cannot_be_sent_is_permanent(name: str, server: Server, messages: list[Message]) -> None:
    error = ask(name, server, dataclasses.replace(REQUEST, messages=messages))
    assert isinstance(error, ProviderError)
    assert error.kind == "permanent"
    assert server.state().requests == 0


@BOTH
def test_a_hundred_requests_are_in_flight_at_once(name: str, server: Server) -> None:
    server.use(Scenario(hold_until=100))

    async def work(provider: Provider) -> list[Reply]:
        return await asyncio.gather(*(provider.complete(REQUEST) for _ in range(100)))

    replies = with_provider(name, server, work)
    state = server.settled()
    assert (len(replies), state.paid, state.most_in_flight) == (100, 100, 100)


@BOTH
@pytest.mark.parametrize(
    "act",
    [
        {"do": "status", "status": 401, "body": {"error": {"message": f"wrong key {KEY}", "code": 401}}},
        {"do": "status", "status": 500, "body": f"{'a' * 480}{KEY}{'b' * 9000}"},
        {"do": "status", "status": 200, "body": {"data": ["sk-test%2FabcDEF%2B123456789"]}},
    ],
)
def test_the_key_is_in_no_error_log_or_repr(
    name: str, server: Server, act: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    error = error_of(name, server, act)
    shown = "".join(traceback.format_exception(error)) + repr(error) + repr(vars(error)) + caplog.text
    shown += repr(build(name, base_url=server.root, key=KEY))
    for secret in (KEY, "abcDEF", "abcDEF%2B"):
        assert secret not in shown
    assert len(str(error)) <= 500
    assert error.__context__ is None
    assert error.__cause__ is None


@BOTH
def test_it_tells_an_endpoint_nothing_from_the_environment(
    name: str, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "GOOGLE_API_KEY", "GOOGLE_CLOUD_PROJECT"):
        monkeypatch.setenv(variable, "from-the-environment")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Told: from-the-environment")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
    monkeypatch.setenv("GOOGLE_GENAI_API_VERSION", "v9")
    reply_of(name, server)
    assert "from-the-environment" not in str(server.state().last_headers)
    with pytest.raises(BadProvider, match="needs a key"):
        build(name, base_url=server.root)


@BOTH
@pytest.mark.parametrize("base_url", ["ftp://h", "http://user:secret@host", "http://ho st/"])
def test_it_refuses_an_address_that_is_none(name: str, base_url: str) -> None:
    with pytest.raises(BadProvider) as refused:
        build(name, base_url=base_url, key=KEY)
    assert "secret" not in str(refused.value)


@BOTH
@pytest.mark.parametrize("key", ["sk 1", "sk\n1", "schlüssel"])
def test_it_refuses_a_key_that_is_none_without_showing_it(name: str, key: str) -> None:
    with pytest.raises(BadProvider) as refused:
        build(name, base_url="http://127.0.0.1:1", key=key)
    assert key not in str(refused.value)


@pytest.mark.parametrize(("name", "module"), [("anthropic", "anthropic"), ("google", "google.genai")])
def test_without_its_sdk_it_says_what_to_install(name: str, module: str) -> None:
    program = f"""
import sys
sys.modules[{module!r}] = None
from llm.providers import BadProvider, build, check
from llm.types import ChatRequest
check({name!r}, ChatRequest(model="m", messages=()))
try:
    build({name!r}, key="k")
except BadProvider as error:
    print(error)
"""
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == f"the SDK of {name} is not installed: install falsestep[{name}]"


def test_asking_for_providers_loads_no_sdk() -> None:
    program = """
import sys, llm.providers
print([name for name in ("openai", "anthropic", "google.genai") if name in sys.modules])
"""
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
