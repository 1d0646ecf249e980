"""Gemini by Google's own protocol: one request per call, every failure typed."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any

from google import genai
from google.genai import errors, types

from llm.outbound import plain_base_url
from llm.protocols import generate_content
from llm.protocols.answers import Answer, Failures, check_key
from llm.providers.sending import certificates, http_client, once, since
from llm.types import BadProvider, ChatRequest, Reply

DEFAULT_BASE_URL = "https://generativelanguage.googleapis.com"
_API_VERSION = "v1beta"


class Google:
    """The endpoint with one key. The key is never logged, and is in no error and no repr.

    `base_url` is without the version. `thinking_tokens` is the budget of thinking, for models that know no
    levels of it. See llm.protocols.generate_content for the settings.
    """

    def __init__(
        self,
        *,
        base_url: str = "",
        key: str = "",
        connections: int = 1000,
        thinking_tokens: int | None = None,
        allow_private: bool = True,
    ) -> None:
        self.base_url = plain_base_url(base_url or DEFAULT_BASE_URL)
        check_key(key)
        if not key:
            raise BadProvider("Google needs a key")
        self._failures = Failures(key)
        self._thinking_tokens = thinking_tokens
        self._http = http_client(connections, allow_private=allow_private)
        self._client = genai.Client(
            vertexai=False,
            api_key=key,
            http_options=types.HttpOptions(
                base_url=self.base_url,
                api_version=_API_VERSION,
                # Named although it says "once": without it the SDK asks again when a connection breaks.
                retry_options=types.HttpRetryOptions(attempts=1),
                httpx_async_client=self._http,
                client_args={"verify": certificates()},
            ),
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.base_url}>"

    async def complete(self, request: ChatRequest) -> Reply:
        """Make one request and return the reply; raise ProviderError for whatever goes wrong."""
        reason = generate_content.unsupported(request, thinking_tokens=self._thinking_tokens)
        if reason:
            raise self._failures.failure(reason, "permanent")
        began = time.monotonic()

        async def send() -> Answer:
            try:
                generated = await self._client.aio.models.generate_content(
                    model=request.model,
                    contents=[
                        types.Content.model_validate(content)
                        for content in generate_content.contents(request)
                    ],
                    config=self._config(request),
                )
            except errors.APIError as error:
                return _answer_of(error)
            response = generated.sdk_http_response
            body = (response.body or "") if response else ""
            headers = (response.headers or {}) if response else {}
            return Answer(200, body.encode("utf-8", "replace"), headers)

        answer = await once(send, timeout=request.timeout, failures=self._failures)
        return replace(generate_content.reply(answer, self._failures), latency_ms=since(began))

    def _config(self, request: ChatRequest) -> types.GenerateContentConfig:
        settings: dict[str, Any] = generate_content.config(request, thinking_tokens=self._thinking_tokens)
        return types.GenerateContentConfig(
            # One request per call: no follow-up for a long answer, none for functions.
            automatic_continuation=False,
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
            # The body as it came: what the SDK cannot read is for us to type.
            should_return_http_response=True,
            http_options=types.HttpOptions(timeout=math.ceil(request.timeout * 1000)),
            **settings,
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aio.aclose()
        self._client.close()
        await self._http.aclose()


def _answer_of(error: errors.APIError) -> Answer:
    response: Any = error.response
    if response is None:
        return Answer(int(error.code), str(error).encode("utf-8", "replace"), {})
    return Answer(response.status_code, response.content, response.headers)
