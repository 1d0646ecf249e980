"""Fetches a file of results whole, and reads its lines of JSON as often as wanted."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from typing import IO, Any

import httpx2

from llm.protocols.answers import Answer, Failures
from llm.providers.sending import once, timeouts

_IN_MEMORY = 4 * 2**20
_READ_SECONDS = 60.0


async def fetched(
    http: httpx2.AsyncClient, url: str, *, headers: Mapping[str, str], timeout: float, failures: Failures
) -> IO[bytes]:
    """Return the whole answer as an open, nameless file; raise ProviderError if it does not come whole.

    It is fetched before it is read, so that the connection never waits for the database.
    """
    # Held in memory while small, else in a file without a name, which ends with its last handle.
    file: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - the caller closes it

    async def send() -> Answer:
        limit = timeouts(min(timeout, _READ_SECONDS))
        async with http.stream("GET", url, headers=dict(headers), timeout=limit) as response:
            if response.status_code != 200:
                return Answer(response.status_code, await response.aread(), response.headers)
            async for chunk in response.aiter_bytes():
                file.write(chunk)
        return Answer(200, b"", response.headers)

    try:
        answer = await once(send, timeout=timeout, failures=failures)
        if answer.status != 200:
            raise failures.of_status(answer)
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return file


def objects(file: IO[bytes]) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file of JSON Lines; a line that is none is passed over.

    Lines end at a line feed alone: texts of models hold other separators unescaped.
    """
    for line in file:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value
