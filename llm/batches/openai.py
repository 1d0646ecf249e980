"""OpenAI's batch API: requests in a file, results in another, errors in a third."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Final

import openai

from llm.batches.downloads import fetched, objects
from llm.batches.types import BatchState, Limits, Outcome, Status, UnfitBatch, check_handle, check_keys
from llm.outbound import plain_base_url
from llm.protocols import chat_completions
from llm.protocols.answers import Answer, Failures, check_key, word
from llm.providers.openai_compatible import DEFAULT_BASE_URL, token_parameter_for
from llm.providers.openai_compatible import client as sdk_client
from llm.providers.sending import http_client, once, timeouts
from llm.types import ChatRequest, ErrorKind, ProviderError

_ENDPOINT: Final = "/v1/chat/completions"
_TAG = "falsestep_tag"
_LISTED = 100
_PAGES = 50
_OVER: dict[str, Status] = {
    "completed": "ended",
    "expired": "expired",
    "failed": "failed",
    "cancelled": "cancelled",
}
# The queue of a model was full when the batch was looked at: the same batch may be taken later.
_FULL = frozenset({"token_limit_exceeded", "request_limit_exceeded", "rate_limit_exceeded"})
# The request was never asked.
_UNASKED = frozenset({"batch_expired", "batch_cancelled"})


class OpenAIBatches:
    """Batches of one endpoint with OpenAI's protocol and one key. The handle is the id of the batch.

    `timeout` in seconds bounds each request, `transfer_timeout` the sending and fetching of files.
    """

    limits = Limits(requests=50_000, size=190_000_000)
    finds = True

    def __init__(
        self,
        *,
        base_url: str = "",
        key: str = "",
        token_parameter: str = "",
        timeout: float = 60.0,
        transfer_timeout: float = 600.0,
        allow_private: bool = True,
    ) -> None:
        self.base_url = plain_base_url(base_url or DEFAULT_BASE_URL)
        check_key(key)
        self._failures = Failures(key)
        self._token_parameter = token_parameter_for(self.base_url, token_parameter)
        self._timeout, self._transfer_timeout = timeout, transfer_timeout
        self._http = http_client(8, allow_private=allow_private)
        self._headers = {"Authorization": f"Bearer {key or 'none'}"}
        self._client = sdk_client(self.base_url, key, self._http)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.base_url}>"

    def size(self, request: ChatRequest) -> int:
        """Return the bytes of a request's line; raise UnfitBatch for text that is no Unicode."""
        return len(self._line(request))

    async def submit(self, requests: Sequence[ChatRequest], *, tag: str = "") -> str:
        """Send the file of the requests, then make the batch of it, and return its id."""
        check_keys(requests)
        lines = [self._line(request) for request in requests]
        if len(lines) > self.limits.requests or sum(map(len, lines)) > self.limits.size:
            raise UnfitBatch(
                f"a batch holds at most {self.limits.requests} requests, {self.limits.size} bytes"
            )
        file = await self._call(
            lambda: self._client.files.with_raw_response.create(
                file=("requests.jsonl", b"".join(lines)),
                purpose="batch",
                timeout=timeouts(self._transfer_timeout),
            ),
            timeout=self._transfer_timeout,
        )
        made = await self._call(
            lambda: self._client.batches.with_raw_response.create(
                input_file_id=str(file["id"]),
                endpoint=_ENDPOINT,
                completion_window="24h",
                metadata={_TAG: tag} if tag else openai.omit,
            )
        )
        return str(made["id"])

    async def find(self, tag: str) -> str | None:
        """Return the id of the newest batch with this tag that has not failed, of the last 5,000."""
        after = ""
        for _ in range(_PAGES):
            page = await self._page(after)
            found = [batch for batch in page["data"] if isinstance(batch, dict)]
            for batch in found:
                metadata = batch.get("metadata")
                if (
                    isinstance(metadata, dict)
                    and metadata.get(_TAG) == tag
                    and batch.get("status") != "failed"
                ):
                    return str(batch["id"])
            if not page.get("has_more") or not found:
                return None
            after = str(found[-1].get("id"))
        return None

    async def poll(self, handle: str) -> BatchState:
        """Return how far a batch is."""
        return _state(await self._batch(handle))

    async def results(self, handle: str) -> AsyncIterator[tuple[str, Outcome]]:
        """Yield the results of a batch that is over: those of its output, then those of its errors."""
        batch = await self._batch(handle)
        for name in ("output_file_id", "error_file_id"):
            file_id = batch.get(name)
            if not file_id:
                continue
            url = f"{self.base_url}/files/{check_handle(str(file_id))}/content"
            with await fetched(
                self._http,
                url,
                headers=self._headers,
                timeout=self._transfer_timeout,
                failures=self._failures,
            ) as file:
                for line in objects(file):
                    if isinstance(line.get("custom_id"), str):
                        yield line["custom_id"], self._outcome(line)

    async def cancel(self, handle: str) -> None:
        """Ask for the end of a batch; of one that is over, nothing happens."""
        check_handle(handle)
        try:
            await self._call(lambda: self._client.batches.with_raw_response.cancel(handle))
        except ProviderError as error:
            if error.status not in (400, 409) or not (await self.poll(handle)).over:
                raise

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _batch(self, handle: str) -> dict[str, Any]:
        check_handle(handle)
        return await self._call(lambda: self._client.batches.with_raw_response.retrieve(handle))

    async def _page(self, after: str) -> dict[str, Any]:
        return await self._call(
            lambda: self._client.batches.with_raw_response.list(limit=_LISTED, after=after or openai.omit),
            expect="data",
        )

    def _line(self, request: ChatRequest) -> bytes:
        body = chat_completions.arguments(request, token_parameter=self._token_parameter)
        line = {"custom_id": request.key, "method": "POST", "url": _ENDPOINT, "body": body}
        try:
            return json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        except UnicodeEncodeError:
            raise UnfitBatch(f"the request {request.key!r} holds text that is no Unicode") from None

    def _outcome(self, line: dict[str, Any]) -> Outcome:
        response, error = line.get("response"), line.get("error")
        if isinstance(response, dict) and isinstance(response.get("status_code"), int):
            answer = Answer(
                response["status_code"],
                json.dumps(response.get("body")).encode(),
                {"x-request-id": word(response.get("request_id"), 200)} if response.get("request_id") else {},
            )
            try:
                return chat_completions.reply(answer, self._failures)
            except ProviderError as failure:
                return failure
        code = word(error.get("code"), 100) if isinstance(error, dict) else ""
        message = word(error.get("message"), 2000) if isinstance(error, dict) else ""
        unasked = code.lower() in _UNASKED or not code
        return self._failures.failure(
            f"no answer in the batch: {code or 'no reason told'} {message}",
            "transient" if unasked else "permanent",
        )

    async def _call(
        self, make: Callable[[], Awaitable[Any]], *, timeout: float | None = None, expect: str = "id"
    ) -> dict[str, Any]:
        """Make one request and return the object that it answers, which has `expect`."""

        async def send() -> Answer:
            try:
                raw = await make()
            except openai.APIStatusError as error:
                return Answer(error.status_code, error.response.content, error.response.headers)
            return Answer(raw.status_code, raw.content, raw.headers)

        answer = await once(
            send,
            timeout=timeout or self._timeout,
            failures=self._failures,
            late=(openai.APITimeoutError,),
            broken=(openai.APIConnectionError,),
        )
        if not 200 <= answer.status < 300:
            raise self._failures.of_status(answer, spent=chat_completions.spent(answer))
        data = answer.data()
        if not isinstance(data, dict) or not isinstance(data.get(expect), str | list):
            raise self._failures.unreadable(answer, "what was asked for")
        return data


def _state(batch: dict[str, Any]) -> BatchState:
    counts = batch.get("request_counts")
    counts = counts if isinstance(counts, dict) else {}
    total, succeeded, failed = (_number(counts.get(name)) for name in ("total", "completed", "failed"))
    errors = batch.get("errors")
    told = errors.get("data") if isinstance(errors, dict) else None
    said = [error for error in told if isinstance(error, dict)] if isinstance(told, list) else []
    rest_kind: ErrorKind = "transient"
    status = _OVER.get(word(batch.get("status")), "in_progress")
    if status == "failed":
        full = bool(said) and all(word(error.get("code")) in _FULL for error in said)
        rest_kind = "rate_limit" if full else "permanent"
    return BatchState(
        status=status,
        succeeded=succeeded,
        failed=failed,
        waiting=max(0, total - succeeded - failed),
        reason="; ".join(f"{word(e.get('code'))}: {word(e.get('message'), 200)}" for e in said[:3]),
        rest_kind=rest_kind,
    )


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
