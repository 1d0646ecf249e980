"""What a provider's batch API takes and gives; a batch is asked once and answered within a day."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from llm.types import ChatRequest, ErrorKind, ProviderError, Reply

Status = Literal["in_progress", "ended", "expired", "failed", "cancelled"]
Outcome = Reply | ProviderError

_KEY = re.compile(r"[A-Za-z0-9_-]{1,64}")
_HANDLE = re.compile(r"[A-Za-z0-9_-]{1,200}")


class UnfitBatch(ValueError):
    """Requests that cannot be a batch; nothing was sent. The message says why."""


@dataclass(frozen=True)
class Limits:
    """The most that one batch may hold: requests, and bytes of all of them as sent."""

    requests: int
    size: int


@dataclass(frozen=True)
class BatchState:
    """How far a batch is. Some providers tell the counts only at its end.

    `reason` says why it failed; `rest_kind` is the kind of error of a request that the batch leaves without a
    result: one that was never asked is worth asking again, unless the whole batch was refused.
    """

    status: Status
    succeeded: int = 0
    failed: int = 0
    waiting: int = 0
    reason: str = ""
    rest_kind: ErrorKind = "transient"

    @property
    def over(self) -> bool:
        """Whether nothing will happen any more, so that the results can be read."""
        return self.status != "in_progress"


class BatchProvider(Protocol):
    """Something that answers many requests together, joined by their keys.

    Every call raises ProviderError, typed as that of a single request, where it fails. What hands in or cancels
    is sent once; what only reads may be asked again by the transport when a connection breaks. A handle is
    all that must be kept: any process with it and the key can poll, read the results again and cancel.
    """

    limits: Limits
    finds: bool
    """Whether `find` works: whether a batch can be recognised whose handle was lost on its way back."""

    def size(self, request: ChatRequest) -> int:
        """Return the bytes of a request within a batch; raise UnfitBatch for one that cannot be carried."""

    async def submit(self, requests: Sequence[ChatRequest], *, tag: str = "") -> str:
        """Hand a batch in and return its handle; raise UnfitBatch if it cannot be one.

        After a transient failure it may have been taken nevertheless: `find` it by its tag before another
        try, where that is possible, or it may be paid twice.
        """

    async def find(self, tag: str) -> str | None:
        """Return the handle of the batch that was handed in with this tag, None if there is none."""

    async def poll(self, handle: str) -> BatchState:
        """Return how far a batch is."""

    def results(self, handle: str) -> AsyncIterator[tuple[str, Outcome]]:
        """Yield (key, result) of a batch that is over, in any order, as the provider has them.

        See joining.joined for the join with what was asked.
        """

    async def cancel(self, handle: str) -> None:
        """Ask for the end of a batch; what is already answered stays, and is to be paid."""

    async def aclose(self) -> None:
        """Close connections."""


def check_keys(requests: Sequence[ChatRequest]) -> None:
    """Raise UnfitBatch unless there are requests, each with a key of its own that every provider takes."""
    if not requests:
        raise UnfitBatch("a batch needs at least one request")
    seen: set[str] = set()
    for request in requests:
        if not _KEY.fullmatch(request.key):
            raise UnfitBatch(f"{request.key[:80]!r} is no key: 1 to 64 letters, digits, dashes, underscores")
        if request.key in seen:
            raise UnfitBatch(f"two requests have the key {request.key!r}")
        seen.add(request.key)


def check_handle(handle: str) -> str:
    """Return a handle that can be part of an address; raise ValueError for anything else."""
    if not _HANDLE.fullmatch(handle):
        raise ValueError(f"{handle[:80]!r} is no handle of a batch")
    return handle
