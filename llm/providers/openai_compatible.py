"""Chat completions of any endpoint with OpenAI's protocol: one request per call, every failure typed."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlsplit

import aiohttp
import httpx2
import openai

from llm.headers import kept, retry_after
from llm.types import BadProvider, ChatRequest, ErrorKind, ProviderError, Reply

DEFAULT_BASE_URL = "https://api.openai.com/v1"
_CONNECT_SECONDS = 15.0
_ERROR_LENGTH = 500
_LARGEST_COUNT = 2**31 - 1  # what the columns of tokens hold
_TRANSIENT = frozenset({408, 409, 425, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
_SPENT = frozenset(
    {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "credits_exhausted"}
)
_FILTERED = frozenset({"content_filter", "content_policy_violation"})


class OpenAICompatible:
    """One endpoint with one key. The key is never logged, and is in no error and no repr.

    `connections` bounds the connections held open. `token_parameter` names the bound of output: the older
    `max_tokens`, or `max_completion_tokens`, which OpenAI's own endpoint wants and others may not know.
    """

    def __init__(
        self, *, base_url: str = "", key: str = "", connections: int = 1000, token_parameter: str = ""
    ) -> None:
        self.base_url = checked_base_url(base_url or DEFAULT_BASE_URL)
        _check_key(key)
        self._secrets = sorted({s for s in (key, quote(key, safe="")) if len(s) >= 4}, key=len, reverse=True)
        own = urlsplit(self.base_url).hostname == "api.openai.com"
        self._token_parameter = token_parameter or ("max_completion_tokens" if own else "max_tokens")
        if self._token_parameter not in ("max_tokens", "max_completion_tokens"):
            raise BadProvider("token_parameter is max_tokens or max_completion_tokens")
        self._client = openai.AsyncOpenAI(
            api_key=key or "none",
            base_url=self.base_url,
            max_retries=0,
            http_client=openai.DefaultAioHttpClient(
                follow_redirects=False,
                limits=httpx2.Limits(max_connections=connections, max_keepalive_connections=connections),
            ),
        )
        # The SDK fills these from the environment and would tell them to any endpoint.
        self._client.organization = self._client.project = self._client.admin_api_key = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.base_url}>"

    async def complete(self, request: ChatRequest) -> Reply:
        """Make one request and return the reply; raise ProviderError for whatever goes wrong."""
        began = time.monotonic()
        failure: ProviderError
        try:
            async with asyncio.timeout(request.timeout):
                raw = await self._client.chat.completions.with_raw_response.create(
                    timeout=httpx2.Timeout(request.timeout, connect=min(_CONNECT_SECONDS, request.timeout)),
                    **self._arguments(request),
                )
            return self._reply(raw.content, raw.headers, raw.status_code, began)
        except openai.APIStatusError as error:
            answer = _filtered(error)
            if answer is not None:
                return Reply(
                    text="",
                    finish_reason=answer,
                    latency_ms=_since(began),
                    headers=kept(error.response.headers),
                )
            failure = self._status_failure(error.status_code, error.response.text, error.response.headers)
        except ProviderError as error:
            failure = error
        except (TimeoutError, openai.APITimeoutError) as error:
            failure = self._failure(f"no answer within {request.timeout:g} s{_because(error)}", "transient")
        except (openai.APIConnectionError, aiohttp.ClientError, OSError) as error:
            failure = self._failure(f"the connection failed{_because(error)}", "transient")
        except Exception as error:
            # Nothing left the machine or nothing sensible came back, and asking again would end alike.
            failure = self._failure(f"the request failed: {type(error).__name__}: {error}", "permanent")
        # Raised out here, so that no exception holding the request and its key hangs on to this one.
        raise failure

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _arguments(self, request: ChatRequest) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            "model": request.model,
            "messages": [{"role": m.role, "content": m.content} for m in request.messages],
            self._token_parameter: request.max_tokens,
        }
        if request.temperature is not None:
            arguments["temperature"] = request.temperature
        if request.reasoning_effort:
            arguments["reasoning_effort"] = request.reasoning_effort
        if request.seed is not None:
            arguments["seed"] = request.seed
        if request.json_mode:
            arguments["response_format"] = {"type": "json_object"}
        return arguments

    def _reply(self, content: bytes, headers: Mapping[str, str], status: int, began: float) -> Reply:
        try:
            body = json.loads(content)
        except (ValueError, RecursionError):
            body = None
        if isinstance(body, dict) and body.get("error"):
            raise self._error_in_reply(body["error"], headers)
        choices = body.get("choices") if isinstance(body, dict) else None
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(body, dict) or not isinstance(choice, dict) or not isinstance(message, dict):
            shown = content[:2000].decode("utf-8", "replace")
            raise self._failure(f"the answer is not a chat completion: {shown}", "transient", status=status)
        if choice.get("error"):
            raise self._error_in_reply(choice["error"], headers)
        text, finish_reason = _text_of(message.get("content")), _word(choice.get("finish_reason"))
        if isinstance(message.get("refusal"), str) and message["refusal"].strip():
            text, finish_reason = text or message["refusal"], "refusal"
        input_tokens, output_tokens = _usage(body.get("usage"))
        return Reply(
            text=text,
            finish_reason=finish_reason,
            served_model=_word(body.get("model"), 200),
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            latency_ms=_since(began),
            headers=kept(headers),
        )

    def _error_in_reply(self, error: object, headers: Mapping[str, str]) -> ProviderError:
        """Type an error under status 200, as gateways send it: by its own code, else as transient."""
        code = error.get("code") if isinstance(error, dict) else None
        status = int(code) if isinstance(code, int) or (isinstance(code, str) and code.isdecimal()) else 500
        return self._status_failure(
            status if 400 <= status < 600 else 500, json.dumps({"error": error}), headers
        )

    def _status_failure(self, status: int, body: str, headers: Mapping[str, str]) -> ProviderError:
        wait = retry_after(headers, now=datetime.now(UTC))
        if status == 429 and _SPENT.isdisjoint(_codes(body)):
            kind: ErrorKind = "rate_limit"
        elif status in _TRANSIENT:
            kind = "transient"
        else:
            kind, wait = "permanent", None
        return self._failure(f"status {status}: {body}", kind, status=status, wait=wait)

    def _failure(
        self, message: str, kind: ErrorKind, *, status: int | None = None, wait: float | None = None
    ) -> ProviderError:
        message = message[: 20 * _ERROR_LENGTH]
        for secret in self._secrets:
            message = message.replace(secret, "[key]")
        message = re.sub(r"[\s\x00-\x1f\ud800-\udfff]+", " ", message).strip()
        return ProviderError(message[:_ERROR_LENGTH], kind=kind, retry_after=wait, status=status)


def checked_base_url(base_url: str) -> str:
    """Return the base address without a slash at its end, or raise BadProvider.

    Only http and https are let through, with a host and without a user, password, query or fragment.
    """
    try:
        parts = urlsplit(base_url.strip())
        port = parts.port
    except ValueError:
        raise BadProvider("the base_url is not an address") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise BadProvider("the base_url must begin with http:// or https:// and name a host")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise BadProvider("the base_url must not hold a user, a password, a query or a fragment")
    if not base_url.strip().isascii() or re.search(r"\s", base_url.strip()):
        raise BadProvider("the base_url holds characters that an address cannot hold")
    return base_url.strip().rstrip("/")


def _check_key(key: str) -> None:
    if not key.isascii() or not key.isprintable() or " " in key:
        raise BadProvider("the key holds characters that no key has, such as a blank or a line end")


def _filtered(error: openai.APIStatusError) -> str | None:
    """Return the finish reason when the refusal of a request is the provider's content filter."""
    if error.status_code in (400, 403) and not _FILTERED.isdisjoint(_codes(error.response.text)):
        return "content_filter"
    return None


def _codes(body: str) -> set[str]:
    """Return the codes and types that an error body names."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return set()
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


def _word(value: object, length: int = 40) -> str:
    return value[:length] if isinstance(value, str) else ""


def _usage(usage: object) -> tuple[int | None, int | None]:
    """Return (input, output) tokens, None where not told credibly.

    Some endpoints leave reasoning out of the completion but not out of the total, and charge for it.
    """
    if not isinstance(usage, dict):
        return None, None
    given, made, total = (
        _count(usage.get(name)) for name in ("prompt_tokens", "completion_tokens", "total_tokens")
    )
    if given is not None and made is not None and total is not None:
        made = max(made, total - given)
    return given, made


def _count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _LARGEST_COUNT:
        return None
    return value


def _since(began: float) -> int:
    return round((time.monotonic() - began) * 1000)


def _because(error: BaseException) -> str:
    """Name the innermost cause, such as ": ServerDisconnectedError"."""
    cause = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    return "" if cause is error and isinstance(error, TimeoutError) else f": {type(cause).__name__}"
