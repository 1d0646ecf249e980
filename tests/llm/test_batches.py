"""The batch APIs against a real local server: joined by own keys, whatever is late, lost or out of order."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import traceback
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from llm.batches import BATCH_PROVIDERS, BatchProvider, BatchState, Limits, UnfitBatch, build, chunks, joined
from llm.batches.types import Outcome
from llm.types import BadProvider, ChatRequest, Message, ProviderError, Reply
from tests.llm.server import NO_ERROR, Scenario, Server, conversation_key, serving, tokens

KEY = "sk-test/abcDEF+123456789"
BOTH = pytest.mark.parametrize("name", BATCH_PROVIDERS)


def request_for(key: str, text: str = "", model: str = "m-1", **settings: Any) -> ChatRequest:
    messages = [Message("system", "You check."), Message("user", text or f"Steps of {key}")]
    return ChatRequest(model=model, messages=messages, key=key, **settings)


REQUESTS = [request_for(f"call-{number}") for number in range(6)]
KEYS = [request.key for request in REQUESTS]


def conversation_of(request: ChatRequest) -> str:
    return conversation_key([{"role": m.role, "content": m.content} for m in request.messages])


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def server(running: Server) -> Server:
    running.reset(Scenario())
    return running


def with_batches(
    name: str, server: Server, work: Callable[[BatchProvider], Awaitable[Any]], **options: Any
) -> Any:
    async def main() -> Any:
        base_url = server.root if name == "anthropic" else server.url
        provider = build(name, base_url=base_url, key=KEY, options=options)
        try:
            return await work(provider)
        finally:
            await provider.aclose()

    return asyncio.run(main())


async def over(provider: BatchProvider, handle: str) -> BatchState:
    for _ in range(20):
        state = await provider.poll(handle)
        if state.over:
            return state
    raise AssertionError("the batch is never over")


async def collected(provider: BatchProvider, handle: str, keys: list[str]) -> list[tuple[str, Outcome]]:
    return [pair async for pair in joined(provider, handle, await over(provider, handle), keys)]


def run(name: str, server: Server, requests: list[ChatRequest] | None = None) -> list[tuple[str, Outcome]]:
    """Hand the requests in, wait for the end, and return the joined results."""
    asked = REQUESTS if requests is None else requests

    async def work(provider: BatchProvider) -> list[tuple[str, Outcome]]:
        return await collected(provider, await provider.submit(asked), [request.key for request in asked])

    result: list[tuple[str, Outcome]] = with_batches(name, server, work)
    return result


def error_in(name: str, server: Server, work: Callable[[BatchProvider], Awaitable[Any]]) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        with_batches(name, server, work)
    return caught.value


@BOTH
def test_a_batch_is_answered_once_for_each_request(name: str, server: Server) -> None:
    server.use(Scenario(key=KEY, batch={"polls": 2}))

    async def work(provider: BatchProvider) -> tuple[list[BatchState], list[tuple[str, Outcome]]]:
        handle = await provider.submit(REQUESTS)
        states = [await provider.poll(handle) for _ in range(3)]
        return states, [pair async for pair in joined(provider, handle, states[-1], KEYS)]

    states, results = with_batches(name, server, work)
    assert [state.status for state in states] == ["in_progress", "in_progress", "ended"]
    assert [state.waiting for state in states] == [6, 6, 0]
    assert (states[-1].succeeded, states[-1].failed) == (6, 0)
    assert [key for key, _ in results] == KEYS
    for key, reply in results:
        assert isinstance(reply, Reply), reply
        assert (reply.text, reply.finish_reason, reply.served_model) == (NO_ERROR, "stop", "m-1-served")
        assert reply.input_tokens == tokens("You check.") + tokens(f"Steps of {key}")
        assert reply.output_tokens == tokens(NO_ERROR)
    state = server.state()
    assert state.paid_by_key == {conversation_of(request): 1 for request in REQUESTS}
    assert state.batches == 1


@BOTH
def test_results_in_another_order_find_their_requests(name: str, server: Server) -> None:
    texts = [[f"Steps of {key}", f"answer to {key}"] for key in KEYS]
    server.use(Scenario(texts=texts, batch={"order": "reversed"}))
    results = run(name, server)
    assert [key for key, _ in results] == KEYS[::-1]
    assert all(isinstance(reply, Reply) and reply.text == f"answer to {key}" for key, reply in results)


@BOTH
def test_an_expired_batch_gives_what_is_finished_and_names_the_rest(name: str, server: Server) -> None:
    server.use(Scenario(batch={"unfinished": 2}))

    async def work(provider: BatchProvider) -> tuple[BatchState, list[tuple[str, Outcome]]]:
        handle = await provider.submit(REQUESTS)
        return await over(provider, handle), await collected(provider, handle, KEYS)

    state, results = with_batches(name, server, work)
    assert (state.status, state.succeeded) == ("expired", 4)
    outcomes = dict(results)
    assert [key for key in KEYS if isinstance(outcomes[key], Reply)] == KEYS[:4]
    for key in KEYS[4:]:
        error = outcomes[key]
        assert isinstance(error, ProviderError)
        assert error.kind == "transient"
        assert "expired" in str(error)
    assert server.state().paid == 4


@BOTH
def test_the_rest_of_an_expired_batch_goes_into_another_and_all_is_paid_once(
    name: str, server: Server
) -> None:
    server.use(Scenario(batch={"unfinished": 2, "order": "reversed"}))
    left = {request.key: request for request in REQUESTS}

    async def work(provider: BatchProvider) -> int:
        rounds = 0
        while left and rounds < 9:
            rounds += 1
            if rounds == 3:
                server.use(Scenario())
            for chunk in chunks(list(left.values()), provider, most=4):
                keys = [request.key for request in chunk]
                for key, outcome in await collected(provider, await provider.submit(chunk), keys):
                    if isinstance(outcome, Reply):
                        left.pop(key)
        return rounds

    # Of 4 and 2 requests the last two of each expire, then those of the 4 that are left, then none.
    assert with_batches(name, server, work) == 3
    assert server.state().paid_by_key == {conversation_of(request): 1 for request in REQUESTS}


@BOTH
def test_a_cancelled_batch_gives_what_is_finished_and_names_the_rest(name: str, server: Server) -> None:
    server.use(Scenario(batch={"polls": 1, "unfinished": 5}))

    async def work(provider: BatchProvider) -> tuple[list[str], list[tuple[str, Outcome]]]:
        handle = await provider.submit(REQUESTS)
        await provider.cancel(handle)
        statuses = [(await provider.poll(handle)).status for _ in range(2)]
        results = await collected(provider, handle, KEYS)
        await provider.cancel(handle)  # over: nothing happens
        return statuses, results

    statuses, results = with_batches(name, server, work)
    assert statuses == ["in_progress", "cancelled"]
    kinds = ["reply" if isinstance(outcome, Reply) else outcome.kind for _, outcome in results]
    assert kinds == ["reply"] + ["transient"] * 5


@BOTH
def test_a_result_that_is_silently_missing_is_named(name: str, server: Server) -> None:
    server.use(Scenario(batch={"silent": ["call-1", "call-4"]}))
    results = run(name, server)
    assert [key for key, _ in results] == ["call-0", "call-2", "call-3", "call-5", "call-1", "call-4"]
    for key, error in results[-2:]:
        assert isinstance(error, ProviderError), key
        assert error.kind == "transient"
        assert str(error) == "the batch ended without a result"


@BOTH
def test_results_of_nobody_and_results_again_are_left_out(
    name: str, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    noise = 'no json\n[1]\n{"custom_id": 5}\n{"custom_id": "who-else"}\n\n'
    batch = {"twice": ["call-2"], "strangers": ["call-99", "x"], "noise": noise}
    server.use(Scenario(texts=[["Steps of call-2", "two"]], batch=batch))
    results = run(name, server)
    assert sorted(key for key, _ in results) == KEYS
    assert all(isinstance(outcome, Reply) for _, outcome in results)
    assert "3 results of nobody, 1 results again" in caplog.text
    assert NO_ERROR not in caplog.text


@BOTH
def test_how_each_request_ended_is_typed_as_that_of_a_single_one(name: str, server: Server) -> None:
    acts = [
        {"do": "truncate"},
        {"do": "refuse"},
        {"do": "status", "status": 400},
        {"do": "status", "status": 529},
        {"do": "status", "status": 429},
        None,
    ]
    if name == "openai_compatible":
        acts[4] = {"do": "status", "status": 429, "code": "rate_limit_exceeded"}
    server.use(Scenario(script=acts))
    outcomes = dict(run(name, server))
    ends = [
        outcome.finish_reason if isinstance(outcome, Reply) else (outcome.kind, outcome.status)
        for outcome in (outcomes[key] for key in KEYS)
    ]
    assert ends == ["length", "refusal", ("permanent", 400), ("transient", 529), ("rate_limit", 429), "stop"]


@BOTH
def test_any_process_goes_on_from_a_stored_handle(name: str, server: Server) -> None:
    server.use(Scenario(batch={"polls": 3}))
    handle = with_batches(name, server, lambda provider: provider.submit(REQUESTS))
    with_batches(name, server, lambda provider: provider.poll(handle))
    first = with_batches(name, server, lambda provider: collected(provider, handle, KEYS))
    again = with_batches(name, server, lambda provider: collected(provider, handle, KEYS))
    assert first == again
    assert len(first) == 6
    state = server.state()
    assert (state.batches, state.paid) == (1, 6)


def test_a_batch_whose_handle_was_lost_is_found_by_its_tag(server: Server) -> None:
    # The batch is made, and the connection breaks before its id arrives.
    server.use(Scenario(batch={"acts": [None, {"do": "drop", "paid": True}], "page": 2}))

    async def work(provider: BatchProvider) -> tuple[str | None, ...]:
        with pytest.raises(ProviderError) as lost:
            await provider.submit(REQUESTS, tag="chunk-7")
        assert lost.value.kind == "transient"
        for number in range(4):
            await provider.submit([request_for(f"other-{number}")], tag=f"chunk-{number}")
        await provider.submit([request_for("untagged")])
        return await provider.find("chunk-7"), await provider.find("chunk-2"), await provider.find("chunk-9")

    found, other, none = with_batches("openai_compatible", server, work)
    assert none is None
    assert found != other
    results = with_batches("openai_compatible", server, lambda provider: collected(provider, found, KEYS))
    assert [key for key, _ in results] == KEYS
    assert server.state().batches == 6


def test_anthropic_says_that_it_finds_nothing(server: Server) -> None:
    async def work(provider: BatchProvider) -> bool:
        with pytest.raises(NotImplementedError):
            await provider.find("chunk-7")
        return provider.finds

    assert with_batches("anthropic", server, work) is False
    assert with_batches("openai_compatible", server, _finds) is True


async def _finds(provider: BatchProvider) -> bool:
    return provider.finds


@pytest.mark.parametrize(
    ("code", "kind"), [("invalid_json_line", "permanent"), ("token_limit_exceeded", "rate_limit")]
)
def test_a_batch_that_is_refused_names_all_its_requests(server: Server, code: str, kind: str) -> None:
    server.use(Scenario(batch={"invalid": code}))
    results = run("openai_compatible", server)
    assert [key for key, _ in results] == KEYS
    for _, error in results:
        assert isinstance(error, ProviderError)
        assert error.kind == kind
        assert code in str(error)
    assert server.state().paid == 0


def test_a_batch_that_is_not_over_is_not_joined(server: Server) -> None:
    server.use(Scenario(batch={"polls": 1}))

    async def work(provider: BatchProvider) -> None:
        handle = await provider.submit(REQUESTS)
        state = await provider.poll(handle)
        with pytest.raises(ValueError, match="not over"):
            [pair async for pair in joined(provider, handle, state, KEYS)]

    with_batches("anthropic", server, work)


@BOTH
@pytest.mark.parametrize(
    ("act", "kind", "wait"),
    [
        ({"do": "status", "status": 429, "retry_after": 30}, "rate_limit", 30.0),
        ({"do": "status", "status": 500}, "transient", None),
        ({"do": "status", "status": 401}, "permanent", None),
        ({"do": "status", "status": 200, "body": {"odd": 1}}, "transient", None),
    ],
)
def test_every_request_about_a_batch_is_made_once_and_its_failure_typed(
    name: str, server: Server, act: dict[str, Any], kind: str, wait: float | None
) -> None:
    handle = with_batches(name, server, lambda provider: provider.submit(REQUESTS))
    for work in (
        lambda provider: provider.submit(REQUESTS),
        lambda provider: provider.poll(handle),
        lambda provider: provider.cancel(handle),
    ):
        server.use(Scenario(batch={"acts": [act]}))
        before = server.state().batch_requests
        error = error_in(name, server, work)
        assert (error.kind, error.retry_after) == (kind, wait)
        assert server.state().batch_requests == before + 1
    assert server.state().batches == 1


@BOTH
def test_what_hands_in_or_cancels_is_not_sent_again_when_the_connection_breaks(
    name: str, server: Server
) -> None:
    handle = with_batches(name, server, lambda provider: provider.submit(REQUESTS))
    for work in (lambda provider: provider.submit(REQUESTS), lambda provider: provider.cancel(handle)):
        server.use(Scenario(batch={"acts": [{"do": "drop"}]}))
        before = server.state().batch_requests
        assert error_in(name, server, work).kind == "transient"
        assert server.state().batch_requests == before + 1
    server.use(Scenario(batch={"acts": [{"do": "drop"}] * 2}))
    assert error_in(name, server, lambda provider: provider.poll(handle)).kind == "transient"
    assert server.state().batches == 1


@BOTH
def test_a_batch_that_is_not_known_is_a_permanent_failure(name: str, server: Server) -> None:
    assert error_in(name, server, lambda provider: provider.poll("batch_none")).status == 404
    assert error_in(name, server, lambda provider: provider.poll("batch_none")).kind == "permanent"


@BOTH
def test_results_that_break_off_are_not_half_read(name: str, server: Server) -> None:
    handle = with_batches(name, server, lambda provider: provider.submit(REQUESTS))
    with_batches(name, server, lambda provider: over(provider, handle))
    acts = [{"do": "cut_body"}] if name == "anthropic" else [None, {"do": "cut_body"}]
    server.use(Scenario(batch={"acts": acts}))
    read: list[str] = []

    async def work(provider: BatchProvider) -> None:
        async for key, _ in provider.results(handle):
            read.append(key)

    assert error_in(name, server, work).kind == "transient"
    assert read == []
    with_batches(name, server, work)
    assert read == KEYS


@BOTH
def test_a_text_with_every_separator_stays_one_line(name: str, server: Server) -> None:
    text = "a\u2028b\u2029c\x85d\x0be\r\nf\x1cg" + "\U0001f600é"
    server.use(Scenario(text=text))
    requests = [request_for("k", f"tell {text}")]
    [(_, reply)] = run(name, server, requests)
    assert isinstance(reply, Reply)
    assert reply.text == text
    assert server.state().paid_by_key == {conversation_of(requests[0]): 1}


@BOTH
@pytest.mark.parametrize(
    ("requests", "why"),
    [
        ([], "at least one"),
        ([request_for("a"), request_for("b"), request_for("a")], "two requests have the key 'a'"),
        ([request_for("")], "is no key"),
        ([request_for("a b")], "is no key"),
        ([request_for("x" * 65)], "is no key"),
        ([request_for("a", "half \ud83d")], "'a'"),
    ],
)
def test_what_cannot_be_a_batch_is_refused_before_anything_is_sent(
    name: str, server: Server, requests: list[ChatRequest], why: str
) -> None:
    before = server.state().batch_requests

    async def work(provider: BatchProvider) -> None:
        with pytest.raises(UnfitBatch, match=why):
            await provider.submit(requests)

    with_batches(name, server, work)
    assert server.state().batch_requests == before


@pytest.mark.parametrize("changes", [{"seed": 1}, {"json_mode": True}, {"reasoning_effort": "low"}])
def test_settings_that_cannot_be_carried_are_refused(server: Server, changes: dict[str, Any]) -> None:
    async def work(provider: BatchProvider) -> None:
        with pytest.raises(UnfitBatch, match="Anthropic"):
            await provider.submit([request_for("a", **changes)])

    with_batches("anthropic", server, work)


@BOTH
@pytest.mark.parametrize("handle", ["", "../models", "a/b", "batch_1?x=1", "x" * 201])
def test_a_handle_cannot_lead_elsewhere(name: str, server: Server, handle: str) -> None:
    async def work(provider: BatchProvider) -> None:
        for call in (provider.poll(handle), provider.cancel(handle), anext(aiter(provider.results(handle)))):
            with pytest.raises(ValueError, match="no handle"):
                await call

    before = server.state().batch_requests
    with_batches(name, server, work)
    assert server.state().batch_requests == before


@BOTH
def test_requests_are_split_by_number_size_and_model(name: str, server: Server) -> None:
    async def work(provider: BatchProvider) -> None:
        size = provider.size(REQUESTS[0])
        assert all(provider.size(request) == size for request in REQUESTS)

        def split(requests: list[ChatRequest], **most: int) -> list[list[str]]:
            return [[request.key for request in chunk] for chunk in chunks(requests, provider, **most)]

        assert split([]) == []
        assert split(REQUESTS) == [KEYS]
        assert split(REQUESTS, most=4) == [KEYS[:4], KEYS[4:]]
        provider.limits = Limits(requests=2, size=size * 9)
        assert split(REQUESTS, most=99) == [KEYS[0:2], KEYS[2:4], KEYS[4:6]]
        provider.limits = Limits(requests=99, size=size * 3 + size // 2)
        assert split(REQUESTS) == [KEYS[0:3], KEYS[3:6]]
        provider.limits = Limits(requests=99, size=size * 9)
        mixed = [REQUESTS[0], request_for("o", model="m-2"), REQUESTS[1]]
        assert split(mixed) == [["call-0"], ["o"], ["call-1"]]
        provider.limits = Limits(requests=99, size=size - 1)
        with pytest.raises(UnfitBatch, match=f"'call-0' has {size} bytes"):
            split(REQUESTS)

    with_batches(name, server, work)


@BOTH
def test_a_batch_beyond_the_limits_is_not_sent(name: str, server: Server) -> None:
    async def work(provider: BatchProvider) -> None:
        for limits in (Limits(5, 10**9), Limits(99, provider.size(REQUESTS[0]) * 6 - 1)):
            provider.limits = limits
            with pytest.raises(UnfitBatch, match="at most"):
                await provider.submit(REQUESTS)
        provider.limits = Limits(6, provider.size(REQUESTS[0]) * 6)
        await provider.submit(REQUESTS)

    with_batches(name, server, work)
    assert server.state().batches == 1


@BOTH
def test_requests_to_split_are_not_all_held(name: str, server: Server) -> None:
    taken: list[int] = []

    def endless() -> Iterator[ChatRequest]:
        for number in range(10**9):
            taken.append(number)
            yield request_for(f"k{number}")

    async def work(provider: BatchProvider) -> None:
        parts = chunks(endless(), provider, most=3)
        assert [request.key for request in next(parts)] == ["k0", "k1", "k2"]

    with_batches(name, server, work)
    assert len(taken) == 4


@BOTH
def test_the_key_goes_to_the_endpoint_alone_and_into_no_error_log_or_repr(
    name: str, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    body = {"error": {"message": f"wrong key {KEY}", "type": "x"}}
    server.use(Scenario(script=[{"do": "status", "status": 400, "body": body}], key=KEY))
    shown = ""
    for _, outcome in run(name, server):  # Anthropic names an address elsewhere for the results
        shown += repr(outcome)
    server.use(Scenario(batch={"acts": [{"do": "status", "status": 401, "body": body}]}))
    error = error_in(name, server, lambda provider: provider.submit(REQUESTS))
    shown += "".join(traceback.format_exception(error)) + repr(vars(error)) + caplog.text
    shown += repr(with_batches(name, server, _itself))
    assert "[key]" in shown
    for secret in (KEY, "abcDEF"):
        assert secret not in shown
    assert error.__context__ is None


async def _itself(provider: BatchProvider) -> BatchProvider:
    return provider


def test_batches_are_made_by_name() -> None:
    assert BATCH_PROVIDERS == ("openai_compatible", "anthropic")
    with pytest.raises(BadProvider, match="'google' has no batches here"):
        build("google", key=KEY)
    with pytest.raises(BadProvider, match="needs a key"):
        build("anthropic")
    with pytest.raises(BadProvider, match="token_parameter"):
        build("openai_compatible", options={"token_parameter": "x"})
    program = """
import sys
sys.modules["anthropic"] = None
from llm.batches import build
from llm.types import BadProvider
try:
    build("anthropic", key="k")
except BadProvider as error:
    print(error)
"""
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "the SDK of anthropic is not installed: install falsestep[anthropic]"
