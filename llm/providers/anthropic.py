"""Claude by Anthropic's own protocol: one request per call, every failure typed."""

from __future__ import annotations

import time
from dataclasses import replace

import anthropic
import httpx2

from llm.outbound import plain_base_url
from llm.protocols import messages
from llm.protocols.answers import Answer, Failures, check_key
from llm.providers.sending import http_client, once, since, timeouts
from llm.types import BadProvider, ChatRequest, Reply

DEFAULT_BASE_URL = "https://api.anthropic.com"


class Anthropic:
    """The endpoint with one key. The key is never logged, and is in no error and no repr.

    `base_url` is without the version, which the protocol's paths begin with. `thinking_tokens` turns thinking
    on with a budget, for models without adaptive thinking. See llm.protocols.messages for the settings.
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
            raise BadProvider("Anthropic needs a key")
        self._failures = Failures(key)
        self._thinking_tokens = thinking_tokens
        self._client = client(self.base_url, key, http_client(connections, allow_private=allow_private))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.base_url}>"

    async def complete(self, request: ChatRequest) -> Reply:
        """Make one request and return the reply; raise ProviderError for whatever goes wrong."""
        reason = messages.unsupported(request, thinking_tokens=self._thinking_tokens)
        if reason:
            raise self._failures.failure(reason, "permanent")
        began = time.monotonic()

        async def send() -> Answer:
            body = messages.arguments(request, thinking_tokens=self._thinking_tokens)
            try:
                # Not by messages.create: it knows no temperature, and warns of models by their names.
                response = await self._client.post(
                    "/v1/messages",
                    body=body,
                    cast_to=httpx2.Response,
                    options={"timeout": timeouts(request.timeout)},
                )
            except anthropic.APIStatusError as error:
                response = error.response
            return Answer(response.status_code, response.content, response.headers)

        answer = await once(
            send,
            timeout=request.timeout,
            failures=self._failures,
            late=(anthropic.APITimeoutError,),
            broken=(anthropic.APIConnectionError,),
        )
        return replace(messages.reply(answer, self._failures), latency_ms=since(began))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()


def client(base_url: str, key: str, http: httpx2.AsyncClient) -> anthropic.AsyncAnthropic:
    """Return the SDK's client, which retries nothing, traces nothing and takes nothing from the environment."""
    made = anthropic.AsyncAnthropic(
        api_key=key,
        base_url=base_url,
        max_retries=0,
        open_telemetry=False,
        http_client=http,
    )
    # The SDK fills these from the environment and would tell them to any endpoint.
    made._custom_headers = {}
    made.webhook_key = None
    return made
