"""Google's generateContent protocol: a request's arguments, and the reply or the failure in an answer.

Settings: temperature from 0 to 2; a seed; JSON mode; effort none (no thinking), minimal, low, medium, high or
xhigh as the thinking level, or, for models that know no levels, a budget `thinking_tokens` (0: none).
"""

from __future__ import annotations

import re
from typing import Any

from llm.headers import kept
from llm.protocols.answers import Answer, Failures, count, total, word
from llm.protocols.conversations import parted
from llm.types import ChatRequest, Reply

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")

_FINISH = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
    "FINISH_REASON_UNSPECIFIED": "",
    **dict.fromkeys(
        ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR", "ESCALATION"),
        "content_filter",
    ),
}
_ROLES = {"user": "user", "assistant": "model"}
_SECONDS = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)s")


def unsupported(request: ChatRequest, *, thinking_tokens: int | None = None) -> str:
    """Return why the protocol cannot carry these settings, "" if it can."""
    effort = request.reasoning_effort
    if effort and effort not in EFFORTS:
        return f"Google's reasoning effort is one of {', '.join(EFFORTS)}, not {effort}"
    if thinking_tokens is not None:
        if effort:
            return "choose either a reasoning effort or thinking_tokens"
        if not 0 <= thinking_tokens < request.max_tokens:
            return "thinking_tokens must be at least 0 and less than max_tokens"
    if request.temperature is not None and not 0 <= request.temperature <= 2:
        return "Google's temperature is from 0 to 2"
    if request.seed is not None and not -(2**31) <= request.seed < 2**31:
        return "Google's seed has 32 bits"
    return ""


def contents(request: ChatRequest) -> list[dict[str, Any]]:
    """Return the conversation without its system prompt; raise ValueError for what cannot be carried."""
    _, rest = parted(request.messages)
    return [{"role": _ROLES[m.role], "parts": [{"text": m.content}]} for m in rest]


def config(request: ChatRequest, *, thinking_tokens: int | None = None) -> dict[str, Any]:
    """Return the system prompt and the settings, and nothing that was not asked for."""
    system, _ = parted(request.messages)
    made: dict[str, Any] = {"max_output_tokens": request.max_tokens}
    if system:
        made["system_instruction"] = {"parts": [{"text": system}]}
    if request.temperature is not None:
        made["temperature"] = request.temperature
    if request.seed is not None:
        made["seed"] = request.seed
    if request.json_mode:
        made["response_mime_type"] = "application/json"
    if request.reasoning_effort == "none":
        thinking_tokens = 0
    if thinking_tokens is not None:
        made["thinking_config"] = {"thinking_budget": thinking_tokens}
    elif request.reasoning_effort:
        made["thinking_config"] = {"thinking_level": request.reasoning_effort.upper()}
    return made


def reply(answer: Answer, failures: Failures) -> Reply:
    """Return the reply that an answer holds, or raise the ProviderError that it means."""
    body = answer.data()
    if not 200 <= answer.status < 300:
        raise failures.of_status(answer, asked_seconds=_asked_seconds(body))
    candidates = body.get("candidates") if isinstance(body, dict) else None
    candidate = candidates[0] if isinstance(candidates, list) and candidates else None
    feedback = body.get("promptFeedback") if isinstance(body, dict) else None
    blocked = isinstance(feedback, dict) and bool(feedback.get("blockReason"))
    if not isinstance(body, dict) or not (isinstance(candidate, dict) or blocked):
        raise failures.unreadable(answer, "generated content")
    reason = word(candidate.get("finishReason")) if isinstance(candidate, dict) else ""
    finish_reason = "content_filter" if blocked else _FINISH.get(reason, reason.lower())
    input_tokens, output_tokens = _usage(body.get("usageMetadata"))
    return Reply(
        text=_text_of(candidate),
        finish_reason=finish_reason,
        served_model=word(body.get("modelVersion"), 200),
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        headers=kept(answer.headers),
    )


def _text_of(candidate: object) -> str:
    """Return the text of a candidate's parts, without those of thinking."""
    content = candidate.get("content") if isinstance(candidate, dict) else None
    parts = content.get("parts") if isinstance(content, dict) else None
    if not isinstance(parts, list):
        return ""
    texts = [part.get("text") for part in parts if isinstance(part, dict) and not part.get("thought")]
    return "".join(text for text in texts if isinstance(text, str))


def _usage(usage: object) -> tuple[int | None, int | None]:
    """Return (input, output) tokens, None where not told credibly; thinking is output.

    The protocol leaves out counts of zero, so that a missing one is none only where the input is told.
    """
    if not isinstance(usage, dict) or count(usage.get("promptTokenCount")) is None:
        return None, None
    given = count(usage["promptTokenCount"])
    made = total(count(usage.get(name, 0)) for name in ("candidatesTokenCount", "thoughtsTokenCount"))
    whole = count(usage.get("totalTokenCount"))
    if made is not None and given is not None and whole is not None:
        made = max(made, whole - given)
    return given, made


def _asked_seconds(body: object) -> float | None:
    """Return the wait that the RetryInfo of an error body asks for."""
    if isinstance(body, list) and len(body) == 1:
        body = body[0]
    error = body.get("error") if isinstance(body, dict) else None
    details = error.get("details") if isinstance(error, dict) else None
    for detail in details if isinstance(details, list) else []:
        if isinstance(detail, dict) and str(detail.get("@type", "")).endswith("google.rpc.RetryInfo"):
            match = _SECONDS.fullmatch(str(detail.get("retryDelay", "")))
            if match:
                return float(match[1])
    return None
