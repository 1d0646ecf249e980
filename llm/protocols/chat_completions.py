"""The chat-completions protocol: a request's arguments, and the reply or the failure in an answer."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from llm.headers import kept
from llm.protocols.answers import Answer, Failures, count, word
from llm.types import ChatRequest, ProviderError, Reply

_SPENT = frozenset(
    {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "credits_exhausted"}
)
_FILTERED = frozenset({"content_filter", "content_policy_violation"})


def arguments(request: ChatRequest, *, token_parameter: str) -> dict[str, Any]:
    """Return the body of a request, which holds nothing that was not asked for."""
    made: dict[str, Any] = {
        "model": request.model,
        "messages": [{"role": m.role, "content": m.content} for m in request.messages],
        token_parameter: request.max_tokens,
    }
    if request.temperature is not None:
        made["temperature"] = request.temperature
    if request.reasoning_effort:
        made["reasoning_effort"] = request.reasoning_effort
    if request.seed is not None:
        made["seed"] = request.seed
    if request.json_mode:
        made["response_format"] = {"type": "json_object"}
    return made


def reply(answer: Answer, failures: Failures) -> Reply:
    """Return the reply that an answer holds, or raise the ProviderError that it means."""
    if not 200 <= answer.status < 300:
        if answer.status in (400, 403) and not _FILTERED.isdisjoint(_codes(answer.data())):
            return Reply(text="", finish_reason="content_filter", headers=kept(answer.headers))
        raise _of_status(answer, failures)
    body = answer.data()
    if isinstance(body, dict) and body.get("error"):
        raise _error_in_reply(body["error"], answer, failures)
    choices = body.get("choices") if isinstance(body, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(body, dict) or not isinstance(choice, dict) or not isinstance(message, dict):
        raise failures.unreadable(answer, "a chat completion")
    if choice.get("error"):
        raise _error_in_reply(choice["error"], answer, failures)
    text, finish_reason = _text_of(message.get("content")), word(choice.get("finish_reason"))
    if isinstance(message.get("refusal"), str) and message["refusal"].strip():
        text, finish_reason = text or message["refusal"], "refusal"
    input_tokens, output_tokens = _usage(body.get("usage"))
    return Reply(
        text=text,
        finish_reason=finish_reason,
        served_model=word(body.get("model"), 200),
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        headers=kept(answer.headers),
    )


def spent(answer: Answer) -> bool:
    """Whether an error says that the account has nothing left, so that waiting does not help."""
    return not _SPENT.isdisjoint(_codes(answer.data()))


def _error_in_reply(error: object, answer: Answer, failures: Failures) -> ProviderError:
    """Type an error under status 200, as gateways send it: by its own code, else as transient."""
    code = error.get("code") if isinstance(error, dict) else None
    status = int(code) if isinstance(code, int) or (isinstance(code, str) and code.isdecimal()) else 500
    told = replace(
        answer,
        status=status if 400 <= status < 600 else 500,
        body=json.dumps({"error": error}).encode("utf-8", "replace"),
    )
    return _of_status(told, failures)


def _of_status(answer: Answer, failures: Failures) -> ProviderError:
    return failures.of_status(answer, spent=spent(answer))


def _codes(data: object) -> set[str]:
    """Return the codes and types that an error body names."""
    error = data.get("error", data) if isinstance(data, dict) else None
    if not isinstance(error, dict):
        return set()
    inner = error.get("innererror")
    inner_code = inner.get("code") if isinstance(inner, dict) else None
    return {c.lower() for c in (error.get("code"), error.get("type"), inner_code) if isinstance(c, str)}


def _text_of(content: object) -> str:
    """Return the text of a content; of a list of parts, the text parts, without those of thinking."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = [
            part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"
        ]
        return "".join(text for text in texts if isinstance(text, str))
    return ""


def _usage(usage: object) -> tuple[int | None, int | None]:
    """Return (input, output) tokens, None where not told credibly.

    Some endpoints leave reasoning out of the completion but not out of the total, and charge for it.
    """
    if not isinstance(usage, dict):
        return None, None
    given, made, total = (
        count(usage.get(name)) for name in ("prompt_tokens", "completion_tokens", "total_tokens")
    )
    if given is not None and made is not None and total is not None:
        made = max(made, total - given)
    return given, made
