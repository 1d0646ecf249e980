"""Anthropic's messages protocol: a request's arguments, and the reply or the failure in an answer.

Settings: temperature from 0 to 1, and none with thinking; effort none (thinking off), low, medium, high, xhigh or
max (adaptive thinking), or, for models before adaptive thinking, a budget `thinking_tokens`; no seed and no JSON
mode, which the protocol does not have.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from llm.headers import kept
from llm.protocols.answers import Answer, Failures, count, total, word
from llm.protocols.conversations import parted
from llm.types import ChatRequest, ProviderError, Reply

EFFORTS = ("none", "low", "medium", "high", "xhigh", "max")
LEAST_THINKING_TOKENS = 1024

_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}
_STATUS_OF_TYPE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


def unsupported(request: ChatRequest, *, thinking_tokens: int | None = None) -> str:
    """Return why the protocol cannot carry these settings, "" if it can."""
    effort = request.reasoning_effort
    if request.seed is not None:
        return "Anthropic takes no seed"
    if request.json_mode:
        return "Anthropic has no JSON mode"
    if effort and effort not in EFFORTS:
        return f"Anthropic's reasoning effort is one of {', '.join(EFFORTS)}, not {effort}"
    if thinking_tokens is not None:
        if effort:
            return "choose either a reasoning effort or thinking_tokens"
        if not LEAST_THINKING_TOKENS <= thinking_tokens < request.max_tokens:
            return f"thinking_tokens must be at least {LEAST_THINKING_TOKENS} and less than max_tokens"
    thinks = thinking_tokens is not None or effort not in (None, "", "none")
    if request.temperature is not None and thinks:
        return "Anthropic takes no temperature with thinking: leave it empty"
    if request.temperature is not None and not 0 <= request.temperature <= 1:
        return "Anthropic's temperature is from 0 to 1"
    return ""


def arguments(request: ChatRequest, *, thinking_tokens: int | None = None) -> dict[str, Any]:
    """Return the body of a request, which holds nothing that was not asked for.

    Raises ValueError for a conversation that the protocol cannot carry.
    """
    system, messages = parted(request.messages)
    made: dict[str, Any] = {
        "model": request.model,
        "max_tokens": request.max_tokens,
        "messages": [{"role": m.role, "content": m.content} for m in messages],
    }
    if system:
        made["system"] = system
    if request.temperature is not None:
        made["temperature"] = request.temperature
    if thinking_tokens is not None:
        made["thinking"] = {"type": "enabled", "budget_tokens": thinking_tokens}
    elif request.reasoning_effort == "none":
        made["thinking"] = {"type": "disabled"}
    elif request.reasoning_effort:
        made["thinking"] = {"type": "adaptive"}
        made["output_config"] = {"effort": request.reasoning_effort}
    return made


def reply(answer: Answer, failures: Failures) -> Reply:
    """Return the reply that an answer holds, or raise the ProviderError that it means."""
    if not 200 <= answer.status < 300:
        raise failures.of_status(answer)
    body = answer.data()
    if isinstance(body, dict) and body.get("type") == "error":
        raise error_in_body(body, answer, failures)
    content = body.get("content") if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(content, list):
        raise failures.unreadable(answer, "a message")
    texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
    reason = word(body.get("stop_reason"))
    input_tokens, output_tokens = _usage(body.get("usage"))
    return Reply(
        text="".join(text for text in texts if isinstance(text, str)),
        finish_reason=_FINISH.get(reason, reason),
        served_model=word(body.get("model"), 200),
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        headers=kept(answer.headers),
    )


def error_in_body(body: dict[str, Any], answer: Answer, failures: Failures) -> ProviderError:
    """Return the error that a body without a status of its own tells; an unknown type is transient."""
    error = body.get("error")
    kind = error.get("type") if isinstance(error, dict) else None
    status = _STATUS_OF_TYPE.get(kind, 500) if isinstance(kind, str) else 500
    return failures.of_status(replace(answer, status=status))


def _usage(usage: object) -> tuple[int | None, int | None]:
    """Return (input, output) tokens, None where not told credibly; what was cached is input too."""
    if not isinstance(usage, dict):
        return None, None
    cached = [
        count(usage[name])
        for name in ("cache_creation_input_tokens", "cache_read_input_tokens")
        if usage.get(name) is not None
    ]
    return total([count(usage.get("input_tokens")), *cached]), count(usage.get("output_tokens"))
