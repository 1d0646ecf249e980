"""How each protocol tells a conversation, an answer and an error."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from tests.llm.server.scenario import Act

REFUSAL = "I cannot help with that."


@dataclass(frozen=True)
class Said:
    """An answer before it is put into a protocol: `kind` as in Act, `usage` (input, output) or None."""

    kind: str
    text: str | None
    model: str
    act: Act
    number: int
    usage: tuple[int, int] | None


class Dialect(Protocol):
    """One protocol, as the server speaks it."""

    def conversation(self, body: Any) -> list[dict[str, str]]:
        """Return the messages of a request, [{"role", "content"}, ...], whatever their form in it."""

    def key(self, headers: Mapping[str, str]) -> str:
        """Return the key that a request bears."""

    def answer(self, said: Said) -> dict[str, Any]:
        """Return the body of an answer."""

    def error(self, status: int, code: str | None) -> dict[str, Any]:
        """Return the body of an error."""


def bearer(headers: Mapping[str, str]) -> str:
    return headers.get("Authorization", "").removeprefix("Bearer ")


class ChatCompletions:
    """OpenAI's chat completions."""

    def conversation(self, body: Any) -> list[dict[str, str]]:
        return [{"role": m["role"], "content": m["content"]} for m in body["messages"]]

    def key(self, headers: Mapping[str, str]) -> str:
        return bearer(headers)

    def answer(self, said: Said) -> dict[str, Any]:
        act = said.act
        finish_reason = {"truncate": "length", "filter": "content_filter"}.get(
            said.kind, act.get("finish_reason", "stop")
        )
        message = {
            "role": "assistant",
            "content": None if said.kind in ("filter", "refuse") else said.text,
            "refusal": REFUSAL if said.kind == "refuse" else None,
            **act.get("message", {}),
        }
        body: dict[str, Any] = {
            "id": f"chatcmpl-{said.number}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": said.model,
            "choices": [{"index": 0, "finish_reason": finish_reason, "message": message}],
        }
        if said.usage is not None:
            given, made = said.usage
            body["usage"] = {
                "prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made
            }  # fmt: skip
        return {**body, **act.get("body_fields", {})}

    def error(self, status: int, code: str | None) -> dict[str, Any]:
        code = code or ("server_error" if status >= 500 else "rate_limit_exceeded")
        return {"error": {"message": f"simulated {status}", "type": code, "code": code, "param": None}}


class Messages:
    """Anthropic's messages; a system prompt counts as the first message."""

    _TYPES = {
        400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error",
        413: "request_too_large", 429: "rate_limit_error", 529: "overloaded_error",
    }  # fmt: skip

    def conversation(self, body: Any) -> list[dict[str, str]]:
        system = [{"role": "system", "content": body["system"]}] if "system" in body else []
        return system + [{"role": m["role"], "content": m["content"]} for m in body["messages"]]

    def key(self, headers: Mapping[str, str]) -> str:
        return headers.get("X-Api-Key") or bearer(headers)

    def answer(self, said: Said) -> dict[str, Any]:
        stop_reason = {"truncate": "max_tokens", "filter": "refusal", "refuse": "refusal"}.get(
            said.kind, said.act.get("finish_reason", "end_turn")
        )
        text = "" if said.kind == "filter" else REFUSAL if said.kind == "refuse" else said.text
        body: dict[str, Any] = {
            "id": f"msg_{said.number}",
            "type": "message",
            "role": "assistant",
            "model": said.model,
            "content": [{"type": "text", "text": text}] if text else [],
            "stop_reason": stop_reason,
            "stop_sequence": None,
        }
        if said.usage is not None:
            given, made = said.usage
            body["usage"] = {"input_tokens": given, "output_tokens": made}
        return {**body, **said.act.get("message", {}), **said.act.get("body_fields", {})}

    def error(self, status: int, code: str | None) -> dict[str, Any]:
        kind = code or self._TYPES.get(status, "api_error")
        return {
            "type": "error",
            "error": {"type": kind, "message": f"simulated {status}"},
            "request_id": "req_x",
        }


class GenerateContent:
    """Google's generateContent; the model is in the path, and the system prompt counts as the first message."""

    _STATUSES = {
        400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND",
        429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
    }  # fmt: skip
    _ROLES = {"user": "user", "model": "assistant"}

    def conversation(self, body: Any) -> list[dict[str, str]]:
        found = []
        if "systemInstruction" in body:
            found.append({"role": "system", "content": self._text(body["systemInstruction"])})
        for content in body["contents"]:
            found.append({"role": self._ROLES[content["role"]], "content": self._text(content)})
        return found

    def _text(self, content: Any) -> str:
        return "".join(part["text"] for part in content["parts"])

    def key(self, headers: Mapping[str, str]) -> str:
        return headers.get("X-Goog-Api-Key", "")

    def answer(self, said: Said) -> dict[str, Any]:
        finish_reason = {"truncate": "MAX_TOKENS", "filter": "SAFETY", "refuse": "PROHIBITED_CONTENT"}.get(
            said.kind, said.act.get("finish_reason", "STOP")
        )
        text = None if said.kind in ("filter", "refuse") else said.text
        candidate: dict[str, Any] = {"index": 0, "finishReason": finish_reason}
        if text:
            candidate["content"] = {"role": "model", "parts": [{"text": text}]}
        body: dict[str, Any] = {
            "candidates": [{**candidate, **said.act.get("message", {})}],
            "modelVersion": said.model,
            "responseId": f"r-{said.number}",
        }
        if said.usage is not None:
            given, made = said.usage
            body["usageMetadata"] = {
                "promptTokenCount": given, "candidatesTokenCount": made, "totalTokenCount": given + made
            }  # fmt: skip
        return {**body, **said.act.get("body_fields", {})}

    def error(self, status: int, code: str | None) -> dict[str, Any]:
        name = code or self._STATUSES.get(status, "INTERNAL")
        return {"error": {"code": status, "message": f"simulated {status}", "status": name}}
