"""Sends one request by any SDK: bounded in time, once, and every way of failing typed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import aiohttp
import httpx2
import openai

from llm.protocols.answers import Answer, Failures
from llm.types import ProviderError

_CONNECT_SECONDS = 15.0

Errors = tuple[type[Exception], ...]


def http_client(connections: int) -> httpx2.AsyncClient:
    """Return a client that holds at most so many connections and follows no redirect.

    Its transport is aiohttp's, which keeps hundreds of requests in flight at a fraction of the work.
    """
    return openai.DefaultAioHttpClient(
        follow_redirects=False,
        limits=httpx2.Limits(max_connections=connections, max_keepalive_connections=connections),
    )


def timeouts(seconds: float) -> httpx2.Timeout:
    """Return the timeouts of one request: each read may take `seconds`, to connect less."""
    return httpx2.Timeout(seconds, connect=min(_CONNECT_SECONDS, seconds))


async def once(
    send: Callable[[], Awaitable[Answer]],
    *,
    timeout: float,
    failures: Failures,
    late: Errors = (),
    broken: Errors = (),
) -> Answer:
    """Return the answer of `send`, made once within `timeout` seconds; raise ProviderError if there is none.

    `late` and `broken` are the SDK's own errors of time and of connection. An answer of any status is an
    answer: its reader says what it means.
    """
    too_late: Errors = (TimeoutError, httpx2.TimeoutException, *late)
    cut_off: Errors = (aiohttp.ClientError, httpx2.TransportError, OSError, *broken)
    failure: ProviderError
    try:
        async with asyncio.timeout(timeout):
            return await send()
    except (*too_late, *cut_off) as error:
        cause = _innermost(error)
        # By its cause: the transport calls a server that hangs up a timeout.
        late_one = isinstance(error, too_late) and not _hung_up(cause)
        what = f"no answer within {timeout:g} s" if late_one else "the connection failed"
        because = "" if type(cause) is TimeoutError else f": {type(cause).__name__}"
        failure = failures.failure(what + because, "transient")
    except Exception as error:
        # Nothing left the machine or nothing sensible came back, and asking again would end alike.
        failure = failures.failure(f"the request failed: {type(error).__name__}: {error}", "permanent")
    # Raised out here, so that no exception holding the request and its key hangs on to this one.
    raise failure


def since(began: float) -> int:
    """Return the milliseconds since a moment of time.monotonic()."""
    return round((time.monotonic() - began) * 1000)


def _innermost(error: BaseException) -> BaseException:
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _hung_up(cause: BaseException) -> bool:
    return isinstance(cause, (aiohttp.ClientError, OSError)) and not isinstance(cause, TimeoutError)
