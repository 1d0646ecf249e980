"""A TCP proxy that can cut every connection and refuse new ones for a while: a database that is down."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time


class Proxy:
    """Listens on a free port of 127.0.0.1 and passes bytes on, in a thread of its own."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._open: set[asyncio.StreamWriter] = set()
        self._up = True
        self._started = threading.Event()
        self._loop = asyncio.new_event_loop()
        self.port = 0
        threading.Thread(target=self._run, name="proxy", daemon=True).start()
        assert self._started.wait(10)

    def down(self, seconds: float) -> None:
        """Be away for so many seconds."""
        self._up = False
        self._loop.call_soon_threadsafe(self._cut)
        time.sleep(seconds)
        self._up = True

    def _cut(self) -> None:
        for writer in list(self._open):
            writer.transport.abort()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port = server.sockets[0].getsockname()[1]
        self._started.set()
        self._loop.run_forever()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self._up:
            writer.transport.abort()
            return
        there_reader, there_writer = await asyncio.open_connection(*self._target)
        self._open |= {writer, there_writer}
        await asyncio.gather(self._pass(reader, there_writer), self._pass(there_reader, writer))
        self._open -= {writer, there_writer}

    @staticmethod
    async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        with contextlib.suppress(OSError):
            writer.close()
