"""An answer of HTTP as it came, and the typed failures that are read from it, without the key."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from llm.headers import retry_after
from llm.types import BadProvider, ErrorKind, ProviderError

_ERROR_LENGTH = 500
_LARGEST_COUNT = 2**31 - 1  # what the columns of tokens hold
_TRANSIENT = frozenset({408, 409, 425, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})


@dataclass(frozen=True)
class Answer:
    """Status, body and headers of one answer; of a line of a batch, without headers."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)

    def data(self) -> Any:
        """Return the body read as JSON, or None where it is none."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None

    def shown(self) -> str:
        """Return the beginning of the body as text."""
        return self.body[:8000].decode("utf-8", "replace")


class Failures:
    """Makes the errors of one provider, in which its key never is."""

    def __init__(self, key: str) -> None:
        self._secrets = sorted({s for s in (key, quote(key, safe="")) if len(s) >= 4}, key=len, reverse=True)

    def failure(
        self, message: str, kind: ErrorKind, *, status: int | None = None, wait: float | None = None
    ) -> ProviderError:
        """Return an error with the message cut at 500 characters; `wait` in seconds."""
        message = message[: 20 * _ERROR_LENGTH]
        for secret in self._secrets:
            message = message.replace(secret, "[key]")
        message = re.sub(r"[\s\x00-\x1f\ud800-\udfff]+", " ", message).strip()
        return ProviderError(message[:_ERROR_LENGTH], kind=kind, retry_after=wait, status=status)

    def of_status(
        self, answer: Answer, *, spent: bool = False, asked_seconds: float | None = None
    ) -> ProviderError:
        """Return the error that an answer's status means.

        `spent`: the account has nothing left, so that a 429 will not pass. `asked_seconds`: the wait that the
        body asks for, used where the headers ask for none.
        """
        wait = retry_after(answer.headers, now=datetime.now(UTC))
        if wait is None:
            wait = asked_seconds
        kind: ErrorKind
        if answer.status == 429 and not spent:
            kind = "rate_limit"
        elif answer.status in _TRANSIENT:
            kind = "transient"
        else:
            kind, wait = "permanent", None
        message = f"status {answer.status}: {answer.shown()}"
        return self.failure(message, kind, status=answer.status, wait=wait)

    def unreadable(self, answer: Answer, expected: str) -> ProviderError:
        """Return the error of a success that is not what was expected; asking again may help."""
        message = f"the answer is not {expected}: {answer.shown()[:2000]}"
        return self.failure(message, "transient", status=answer.status)


def check_key(key: str) -> None:
    """Raise BadProvider for a key that no header can carry, without showing it."""
    if not key.isascii() or not key.isprintable() or " " in key:
        raise BadProvider("the key holds characters that no key has, such as a blank or a line end")


def word(value: object, length: int = 40) -> str:
    """Return a text cut at `length`, "" for anything else."""
    return value[:length] if isinstance(value, str) else ""


def count(value: object) -> int | None:
    """Return a credible number of tokens, or None."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _LARGEST_COUNT:
        return None
    return value


def total(counts: Iterable[int | None]) -> int | None:
    """Return the sum of counts, or None where one is not told or the sum is not credible."""
    numbers = list(counts)
    known = [number for number in numbers if number is not None]
    return count(sum(known)) if known and len(known) == len(numbers) else None
