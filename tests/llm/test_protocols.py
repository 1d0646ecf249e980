"""Whatever an endpoint answers, reading it gives a reply or a typed failure, and never anything else."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm.batches import openai as openai_batches
from llm.protocols import chat_completions, generate_content, messages
from llm.protocols.answers import Answer, Failures
from llm.types import ProviderError, Reply

NAMES = (
    "choices", "message", "content", "finish_reason", "refusal", "usage", "prompt_tokens", "total_tokens", "error",
    "code", "type", "text", "stop_reason", "input_tokens", "output_tokens", "cache_read_input_tokens", "model",
    "candidates", "parts", "thought", "finishReason", "promptFeedback", "blockReason", "usageMetadata",
    "promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "totalTokenCount", "modelVersion", "details",
    "@type", "retryDelay", "innererror", "status",
)  # fmt: skip
WORDS = ("text", "error", "SAFETY", "end_turn", "google.rpc.RetryInfo", "3s", "", "\ud83d", "429")
scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**40), 2**40)
    | st.floats()
    | st.sampled_from(WORDS)
    | st.text(max_size=5)
)
bodies = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=6),
    max_leaves=25,
)
# Bodies that come near to right ones, so that the depths are reached too.
nearly = st.one_of(
    st.fixed_dictionaries({
        "choices": st.lists(st.fixed_dictionaries({"message": bodies, "finish_reason": scalars}), max_size=2),
        "usage": bodies,
    }),
    st.fixed_dictionaries({"content": st.lists(bodies, max_size=3), "stop_reason": scalars, "usage": bodies}),
    st.fixed_dictionaries({
        "candidates": st.lists(st.fixed_dictionaries({"content": bodies, "finishReason": scalars}), max_size=2),
        "usageMetadata": bodies,
    }),
    st.fixed_dictionaries({"error": bodies, "type": scalars}),
)  # fmt: skip

READERS = [chat_completions.reply, messages.reply, generate_content.reply]


@pytest.mark.parametrize("read", READERS)
@given(body=bodies | nearly, status=st.sampled_from([200, 200, 200, 400, 403, 429, 500, 529]))
@settings(deadline=None)
def test_any_json_is_a_reply_or_a_failure(
    read: Callable[[Answer, Failures], Reply], body: Any, status: int
) -> None:
    assert_read(read, Answer(status, json.dumps(body).encode()))


@pytest.mark.parametrize("read", READERS)
@given(body=st.binary(max_size=60), status=st.integers(100, 599))
def test_any_bytes_are_a_failure(read: Callable[[Answer, Failures], Reply], body: bytes, status: int) -> None:
    assert_read(read, Answer(status, body))


def assert_read(read: Callable[[Answer, Failures], Reply], answer: Answer) -> None:
    try:
        reply = read(answer, Failures("secret-key"))
    except ProviderError as error:
        assert error.kind in ("transient", "rate_limit", "permanent")
        assert len(str(error)) <= 500
        return
    assert isinstance(reply.text, str)
    assert isinstance(reply.finish_reason, str) and len(reply.finish_reason) <= 40
    assert len(reply.served_model) <= 200
    for number in (reply.input_tokens, reply.output_tokens):
        assert number is None or 0 <= number < 2**31


@pytest.mark.parametrize("read", READERS)
def test_a_body_nested_without_end_is_a_failure(read: Callable[[Answer, Failures], Reply]) -> None:
    with pytest.raises(ProviderError):
        read(Answer(200, b'{"a":' * 200_000), Failures(""))


@given(
    batch=st.dictionaries(st.sampled_from(["status", "request_counts", "errors", "data", "total"]), bodies)
)
def test_any_state_of_a_batch_is_read(batch: dict[str, Any]) -> None:
    state = openai_batches._state(batch)
    assert state.waiting >= 0
    assert isinstance(state.reason, str)
