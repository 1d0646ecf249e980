"""Sends one request by any SDK: bounded in time, once, and every way of failing typed."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any

import aiohttp
import httpx2
import openai
from aiohttp.abc import AbstractResolver, ResolveResult

from llm.outbound import refuse_private
from llm.protocols.answers import Answer, Failures
from llm.types import BadProvider, ProviderError

_CONNECT_SECONDS = 15.0

Errors = tuple[type[Exception], ...]


class PublicResolver(AbstractResolver):
    """Resolves names, and refuses those that lead to an address that is not public.

    The connection goes to the addresses that were checked: a name that is made to lead elsewhere between a
    check and the connection (DNS rebinding) gains nothing.
    """

    def __init__(self) -> None:
        self._resolver = aiohttp.ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses of a host; raise BadProvider for one that is not public."""
        found = await self._resolver.resolve(host, port, family)
        refuse_private(host, [entry["host"] for entry in found])
        return found

    async def close(self) -> None:
        """Close the resolver."""
        await self._resolver.close()


@cache
def certificates() -> ssl.SSLContext:
    """Return what connections trust. Read once in a process: a machine's certificates are some 200 kB."""
    return httpx2.create_ssl_context()


def http_client(connections: int, *, allow_private: bool = True) -> httpx2.AsyncClient:
    """Return a client that holds at most so many connections and follows no redirect.

    Its transport is aiohttp's, which keeps hundreds of requests in flight at a fraction of the work. Unless
    `allow_private`, no name leads it to an address that is not public; addresses given as numbers are not
    resolved, and for `llm.outbound.check_base_url` to refuse. Through a proxy of the environment the proxy
    looks names up, and what it may reach is its own matter.
    """
    made = openai.DefaultAioHttpClient(
        follow_redirects=False,
        verify=certificates(),
        limits=httpx2.Limits(max_connections=connections, max_keepalive_connections=connections),
    )
    if not allow_private:
        transport: Any = made._transport

        def session() -> aiohttp.ClientSession:
            return aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=connections,
                    keepalive_timeout=transport.limits.keepalive_expiry,
                    ssl=transport.ssl_context,
                    resolver=PublicResolver(),
                )
            )

        transport.client = session
    return made


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
        refused = isinstance(cause, BadProvider)
        # By its cause: the transport calls a server that hangs up a timeout.
        late_one = isinstance(error, too_late) and not _hung_up(cause)
        what = f"no answer within {timeout:g} s" if late_one else "the connection failed"
        because = "" if type(cause) is TimeoutError else f": {type(cause).__name__}"
        failure = (
            failures.failure(str(cause), "permanent")
            if refused
            else failures.failure(what + because, "transient")
        )
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
