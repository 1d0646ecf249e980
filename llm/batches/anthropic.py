"""Anthropic's message batches: requests in one body, results as a stream of lines."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import anthropic
import httpx2

from llm.batches.downloads import fetched, objects
from llm.batches.types import BatchState, Limits, Outcome, Status, UnfitBatch, check_handle, check_keys
from llm.outbound import plain_base_url
from llm.protocols import messages
from llm.protocols.answers import Answer, Failures, check_key, word
from llm.providers.anthropic import DEFAULT_BASE_URL
from llm.providers.anthropic import client as sdk_client
from llm.providers.sending import http_client, once, timeouts
from llm.types import BadProvider, ChatRequest, ProviderError

_PATH = "/v1/messages/batches"


class AnthropicBatches:
    """Message batches with one key. The handle is the id of the batch.

    `timeout` in seconds bounds each request, `transfer_timeout` the sending and fetching of whole batches. The
    API keeps nothing by which a batch could be found again whose id was lost.
    """

    limits = Limits(requests=100_000, size=240_000_000)
    finds = False

    def __init__(
        self,
        *,
        base_url: str = "",
        key: str = "",
        thinking_tokens: int | None = None,
        timeout: float = 60.0,
        transfer_timeout: float = 600.0,
        allow_private: bool = True,
    ) -> None:
        self.base_url = plain_base_url(base_url or DEFAULT_BASE_URL)
        check_key(key)
        if not key:
            raise BadProvider("Anthropic needs a key")
        self._failures = Failures(key)
        self._thinking_tokens = thinking_tokens
        self._timeout, self._transfer_timeout = timeout, transfer_timeout
        self._http = http_client(8, allow_private=allow_private)
        self._client = sdk_client(self.base_url, key, self._http)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.base_url}>"

    def size(self, request: ChatRequest) -> int:
        """Return the bytes of a request with its comma; raise UnfitBatch for settings that it cannot carry."""
        return len(self._entry(request)) + 1

    async def submit(self, requests: Sequence[ChatRequest], *, tag: str = "") -> str:
        """Make a batch and return its id; the tag is kept nowhere."""
        check_keys(requests)
        entries = [self._entry(request) for request in requests]
        if len(entries) > self.limits.requests or sum(len(entry) + 1 for entry in entries) > self.limits.size:
            raise UnfitBatch(
                f"a batch holds at most {self.limits.requests} requests, {self.limits.size} bytes"
            )
        body = b'{"requests":[' + b",".join(entries) + b"]}"
        made = await self._call(
            lambda: self._client.post(
                _PATH,
                content=body,
                cast_to=httpx2.Response,
                options={
                    "timeout": timeouts(self._transfer_timeout),
                    "headers": {"Content-Type": "application/json"},
                },
            ),
            timeout=self._transfer_timeout,
        )
        return str(made["id"])

    async def find(self, tag: str) -> str | None:
        """Raise NotImplementedError: see `finds`."""
        raise NotImplementedError("Anthropic keeps nothing by which a batch could be found again")

    async def poll(self, handle: str) -> BatchState:
        """Return how far a batch is; it has expired or was cancelled if any of its requests was."""
        check_handle(handle)
        return _state(
            await self._call(lambda: self._client.get(f"{_PATH}/{handle}", cast_to=httpx2.Response))
        )

    async def results(self, handle: str) -> AsyncIterator[tuple[str, Outcome]]:
        """Yield the results of a batch that is over."""
        # Not from the address that the batch names, so that the key goes nowhere else.
        url = f"{self.base_url}{_PATH}/{check_handle(handle)}/results"
        version = str(self._client.default_headers["anthropic-version"])
        with await fetched(
            self._http,
            url,
            headers={**self._client.auth_headers, "anthropic-version": version},
            timeout=self._transfer_timeout,
            failures=self._failures,
        ) as file:
            for line in objects(file):
                if isinstance(line.get("custom_id"), str):
                    yield line["custom_id"], self._outcome(line.get("result"))

    async def cancel(self, handle: str) -> None:
        """Ask for the end of a batch; of one that is over, nothing happens."""
        check_handle(handle)
        try:
            await self._call(lambda: self._client.post(f"{_PATH}/{handle}/cancel", cast_to=httpx2.Response))
        except ProviderError as error:
            if error.status not in (400, 409) or not (await self.poll(handle)).over:
                raise

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    def _entry(self, request: ChatRequest) -> bytes:
        reason = messages.unsupported(request, thinking_tokens=self._thinking_tokens)
        if reason:
            raise UnfitBatch(reason)
        try:
            params = messages.arguments(request, thinking_tokens=self._thinking_tokens)
            entry = {"custom_id": request.key, "params": params}
            return json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode()
        except ValueError as error:
            raise UnfitBatch(f"the request {request.key!r} cannot be sent: {error}") from None

    def _outcome(self, result: object) -> Outcome:
        kind = result.get("type") if isinstance(result, dict) else None
        if isinstance(result, dict) and kind == "succeeded":
            answer = Answer(200, json.dumps(result.get("message")).encode())
            try:
                return messages.reply(answer, self._failures)
            except ProviderError as failure:
                return failure
        if isinstance(result, dict) and kind == "errored" and isinstance(result.get("error"), dict):
            body = result["error"]
            return messages.error_in_body(body, Answer(200, json.dumps(body).encode()), self._failures)
        return self._failures.failure(
            f"no answer in the batch: {word(kind) or 'no reason told'}", "transient"
        )

    async def _call(
        self, make: Callable[[], Awaitable[httpx2.Response]], *, timeout: float | None = None
    ) -> dict[str, Any]:
        """Make one request and return the batch that it answers."""

        async def send() -> Answer:
            try:
                response = await make()
            except anthropic.APIStatusError as error:
                response = error.response
            return Answer(response.status_code, response.content, response.headers)

        answer = await once(
            send,
            timeout=timeout or self._timeout,
            failures=self._failures,
            late=(anthropic.APITimeoutError,),
            broken=(anthropic.APIConnectionError,),
        )
        if not 200 <= answer.status < 300:
            raise self._failures.of_status(answer)
        data = answer.data()
        if not isinstance(data, dict) or not isinstance(data.get("id"), str):
            raise self._failures.unreadable(answer, "a batch")
        return data


def _state(batch: dict[str, Any]) -> BatchState:
    counts = batch.get("request_counts")
    counts = counts if isinstance(counts, dict) else {}
    number = {
        name: value
        for name in ("processing", "succeeded", "errored", "canceled", "expired")
        if isinstance(value := counts.get(name), int) and value > 0
    }
    status: Status = "in_progress"
    if batch.get("processing_status") == "ended":
        status = "expired" if "expired" in number else "cancelled" if "canceled" in number else "ended"
    return BatchState(
        status=status,
        succeeded=number.get("succeeded", 0),
        failed=sum(number.get(name, 0) for name in ("errored", "canceled", "expired")),
        waiting=number.get("processing", 0),
    )
