"""Splits requests into batches, and joins the results of a batch with what was asked, each exactly once."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Collection, Iterable, Iterator

from llm.batches.types import BatchProvider, BatchState, Outcome, UnfitBatch
from llm.types import ChatRequest, ProviderError

log = logging.getLogger(__name__)


def chunks(
    requests: Iterable[ChatRequest], provider: BatchProvider, *, most: int | None = None
) -> Iterator[list[ChatRequest]]:
    """Yield the requests in batches within the provider's limits, in order, and at most `most` in each.

    A batch asks one model, since some endpoints take no other. Nothing more than one batch is held. Raises
    UnfitBatch for a request that cannot be carried or is too large for any batch.
    """
    limits = provider.limits
    most = min(limits.requests, most or limits.requests)
    chunk: list[ChatRequest] = []
    size = 0
    for request in requests:
        more = provider.size(request)
        if more > limits.size:
            raise UnfitBatch(f"the request {request.key!r} has {more} bytes, a batch at most {limits.size}")
        if chunk and (len(chunk) == most or size + more > limits.size or chunk[0].model != request.model):
            yield chunk
            chunk, size = [], 0
        chunk.append(request)
        size += more
    if chunk:
        yield chunk


async def joined(
    provider: BatchProvider, handle: str, state: BatchState, keys: Collection[str]
) -> AsyncIterator[tuple[str, Outcome]]:
    """Yield every key of a batch that is over exactly once, with its result.

    The first result of a key counts. A result nobody asked for is left out, and logged without its text. A
    key without a result, as of an expired batch, comes last with the error that `state` means for it.
    """
    if not state.over:
        raise ValueError("the batch is not over")
    missing = dict.fromkeys(keys)
    strange = again = 0
    if state.status != "failed":
        async for key, outcome in provider.results(handle):
            if key in missing:
                del missing[key]
                yield key, outcome
            elif key in keys:
                again += 1
            else:
                strange += 1
    if strange or again:
        log.warning("batch %s: %d results of nobody, %d results again left out", handle, strange, again)
    why = f"the batch {state.status}" if state.status in ("failed", "expired") else "the batch was cancelled"
    if state.status == "ended":
        why = "the batch ended"
    told = f": {state.reason}" if state.reason else ""
    for key in missing:
        yield key, ProviderError(f"{why} without a result{told}"[:500], kind=state.rest_kind)
