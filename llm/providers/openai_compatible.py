"""Chat completions of any endpoint with OpenAI's protocol: one request per call, every failure typed."""

from __future__ import annotations

import time
from dataclasses import replace
from urllib.parse import urlsplit

import httpx2
import openai

from llm.outbound import plain_base_url
from llm.protocols import chat_completions
from llm.protocols.answers import Answer, Failures, check_key
from llm.providers.sending import http_client, once, since, timeouts
from llm.types import BadProvider, ChatRequest, Reply

DEFAULT_BASE_URL = "https://api.openai.com/v1"


class OpenAICompatible:
    """One endpoint with one key. The key is never logged, and is in no error and no repr.

    `connections` bounds the connections held open. `token_parameter` names the bound of output: the older
    `max_tokens`, or `max_completion_tokens`, which OpenAI's own endpoint wants and others may not know.
    """

    def __init__(
        self,
        *,
        base_url: str = "",
        key: str = "",
        connections: int = 1000,
        token_parameter: str = "",
        allow_private: bool = True,
    ) -> None:
        self.base_url = plain_base_url(base_url or DEFAULT_BASE_URL)
        check_key(key)
        self._failures = Failures(key)
        self._token_parameter = token_parameter_for(self.base_url, token_parameter)
        self._client = client(self.base_url, key, http_client(connections, allow_private=allow_private))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.base_url}>"

    async def complete(self, request: ChatRequest) -> Reply:
        """Make one request and return the reply; raise ProviderError for whatever goes wrong."""
        began = time.monotonic()

        async def send() -> Answer:
            body = chat_completions.arguments(request, token_parameter=self._token_parameter)
            try:
                # Not by chat.completions.create, which spends as long again on walking through the body.
                response = await self._client.post(
                    "/chat/completions",
                    body=body,
                    cast_to=httpx2.Response,
                    options={"timeout": timeouts(request.timeout), "security": {"bearer_auth": True}},
                )
            except openai.APIStatusError as error:
                response = error.response
            return Answer(response.status_code, response.content, response.headers)

        answer = await once(
            send,
            timeout=request.timeout,
            failures=self._failures,
            late=(openai.APITimeoutError,),
            broken=(openai.APIConnectionError,),
        )
        return replace(chat_completions.reply(answer, self._failures), latency_ms=since(began))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()


def client(base_url: str, key: str, http: httpx2.AsyncClient) -> openai.AsyncOpenAI:
    """Return the SDK's client, which retries nothing and takes nothing from the environment."""
    made = openai.AsyncOpenAI(api_key=key or "none", base_url=base_url, max_retries=0, http_client=http)
    # The SDK fills these from the environment and would tell them to any endpoint.
    made.organization = made.project = made.admin_api_key = None
    return made


def token_parameter_for(base_url: str, chosen: str) -> str:
    """Return the name of the bound of output that an endpoint wants, or raise BadProvider."""
    own = urlsplit(base_url).hostname == "api.openai.com"
    name = chosen or ("max_completion_tokens" if own else "max_tokens")
    if name not in ("max_tokens", "max_completion_tokens"):
        raise BadProvider("token_parameter is max_tokens or max_completion_tokens")
    return name
