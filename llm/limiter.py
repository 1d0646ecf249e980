"""How many requests of a monitor may be in flight: halved once per episode of rate limits, grown back slowly.

`AdaptiveLimit` is the rule as a pure state machine: a frozen value, every event gives the next one, time is
an argument. The engine keeps one per monitor in the database and shares it over workers; within one event
loop `Limiter` keeps it and makes callers wait.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace

from llm.retry import LONGEST_ASKED_SECONDS
from llm.types import ProviderError

SHRINK = 0.5
COOL_DOWN_SECONDS = 5.0


@dataclass(frozen=True)
class AdaptiveLimit:
    """A limit between 1 and `ceiling` requests in flight; times in seconds of any one clock.

    An episode is one overload seen many times: every request that left before the last shrink tells about the
    old limit, so its rate limit changes nothing. Growth is one request more per limit's worth of successes,
    after a cool-down. `not_before`: no request leaves earlier, because the provider asked for it.
    """

    ceiling: int
    current: float = 0.0
    shrunk_at: float = float("-inf")
    not_before: float = float("-inf")

    def __post_init__(self) -> None:
        if self.ceiling < 1:
            raise ValueError("a monitor has at least one request in flight")
        current = self.current if self.current else float(self.ceiling)
        object.__setattr__(self, "current", min(max(current, 1.0), float(self.ceiling)))

    @property
    def allowed(self) -> int:
        """How many requests may be in flight now."""
        return int(self.current)

    def admits(self, in_flight: int, *, now: float) -> bool:
        """Whether one more request may leave beside `in_flight` others."""
        return in_flight < self.allowed and now >= self.not_before

    def succeeded(self, *, now: float) -> AdaptiveLimit:
        """Return the limit after a request was answered."""
        if self.current >= self.ceiling or now < self.shrunk_at + COOL_DOWN_SECONDS:
            return self
        return replace(self, current=min(float(self.ceiling), self.current + 1.0 / self.current))

    def limited(self, *, started: float, now: float, retry_after: float | None = None) -> AdaptiveLimit:
        """Return the limit after a request that left at `started` was refused for its rate."""
        not_before = max(self.not_before, now + min(retry_after or 0.0, LONGEST_ASKED_SECONDS))
        if started <= self.shrunk_at:
            return replace(self, not_before=not_before)
        current = max(1.0, float(int(self.current * SHRINK)))
        return replace(self, current=current, shrunk_at=now, not_before=not_before)


class Limiter:
    """Admits at most the adaptive limit's requests within one event loop, in the order of asking.

    Use `async with limiter.slot():` around one request: its ProviderError of kind rate_limit shrinks the
    limit, an answer grows it, another failure does neither.
    """

    def __init__(self, limit: AdaptiveLimit, *, clock: Callable[[], float] | None = None) -> None:
        self.limit = limit
        self.in_flight = 0
        self._clock = clock or (lambda: asyncio.get_running_loop().time())
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait for a place, hold it, and learn from how the request ended."""
        await self._enter()
        started = self._clock()
        try:
            yield
        except ProviderError as error:
            if error.kind == "rate_limit":
                self.limit = self.limit.limited(
                    started=started, now=self._clock(), retry_after=error.retry_after
                )
            raise
        else:
            self.limit = self.limit.succeeded(now=self._clock())
        finally:
            self.in_flight -= 1
            self._wake()

    async def _enter(self) -> None:
        if not self._waiting and self.limit.admits(self.in_flight, now=self._clock()):
            self.in_flight += 1
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        self._wake()
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.in_flight -= 1
            else:
                with suppress(ValueError):
                    self._waiting.remove(place)
            self._wake()
            raise

    def _wake(self) -> None:
        """Give free places to those who wait longest; when only time is missing, look again then."""
        now = self._clock()
        while self._waiting and self.limit.admits(self.in_flight, now=now):
            place = self._waiting.popleft()
            if not place.done():
                self.in_flight += 1
                place.set_result(None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._waiting and now < self.limit.not_before:
            self._timer = asyncio.get_running_loop().call_later(self.limit.not_before - now, self._wake)
