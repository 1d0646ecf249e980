"""What a model is asked, what it answers, and how it fails; every provider speaks these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

ErrorKind = Literal["transient", "rate_limit", "permanent"]


@dataclass(frozen=True)
class Message:
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class ChatRequest:
    """One prompt with its settings. Times in seconds; `key` joins replies of batch APIs."""

    model: str
    messages: Sequence[Message]
    temperature: float | None = 0.0
    max_tokens: int = 4000
    reasoning_effort: str | None = None
    seed: int | None = None
    json_mode: bool = False
    timeout: float = 120.0
    key: str = ""


@dataclass(frozen=True)
class Reply:
    """What came back. Tokens are None where the provider did not say."""

    text: str
    finish_reason: str
    served_model: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    latency_ms: int = 0
    headers: dict[str, str] = field(default_factory=dict)


class ProviderError(Exception):
    """A failed request with the decision already typed; `retry_after` in seconds where the provider said."""

    def __init__(
        self, message: str, *, kind: ErrorKind, retry_after: float | None = None, status: int | None = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.retry_after = retry_after
        self.status = status


class Provider(Protocol):
    """Something that answers prompts. Makes exactly one request per call: retrying is the engine's."""

    async def complete(self, request: ChatRequest) -> Reply:
        """Return the reply, or raise ProviderError."""

    async def aclose(self) -> None:
        """Close connections."""


class BadProvider(ValueError):
    """A provider cannot be made from these settings; the message says why and never holds a key."""
