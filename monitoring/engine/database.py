"""Database work off the event loop: one thread with one connection, patient when the database is away."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from django.db import InterfaceError, OperationalError, connection

from monitoring.engine.limits import limits

P = ParamSpec("P")
T = TypeVar("T")

log = logging.getLogger(__name__)


class Database:
    """Runs functions one after another in a thread of its own.

    Each function is one transaction that may be repeated: after a lost connection nobody knows whether the
    commit arrived, and the conditional updates of claims and settling make a repetition harmless.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="database")

    async def __call__(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, lambda: self._patiently(function, *args, **kwargs))

    async def aclose(self) -> None:
        """Close the connection and end the thread."""
        await asyncio.get_running_loop().run_in_executor(self._thread, _close)
        self._thread.shutdown()

    @staticmethod
    def _patiently(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        given_up = time.monotonic() + limits().database_down
        pause = 0.1
        while True:
            try:
                return function(*args, **kwargs)
            except (OperationalError, InterfaceError) as error:
                connection.close()
                if time.monotonic() + pause > given_up:
                    raise
                log.warning("the database is away (%s); trying again in %.1f s", error, pause)
                time.sleep(pause)
                pause = min(2 * pause, 2.0)


def _close() -> None:
    connection.close()  # looked up here: each thread has a connection of its own
