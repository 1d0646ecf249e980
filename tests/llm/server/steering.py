"""A running server as a test sees it, in a thread of the test or as a process of its own."""

from __future__ import annotations

import argparse
import asyncio
import json
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import Any

import pytest
from aiohttp import web

from tests.llm.server.app import ChatApp
from tests.llm.server.batches import Batches
from tests.llm.server.scenario import Scenario, State


@dataclass
class Server:
    """A running server as a test sees it, steered over HTTP."""

    port: int

    @property
    def url(self) -> str:
        """The base_url for chat completions."""
        return f"{self.root}/v1"

    @property
    def root(self) -> str:
        """The base_url for Anthropic's and Google's protocols, whose SDKs add the version."""
        return f"http://127.0.0.1:{self.port}"

    def use(self, scenario: Scenario) -> None:
        """Replace the scenario; counters go on."""
        self._call("PUT", "/control/scenario", asdict(scenario))

    def reset(self, scenario: Scenario | None = None) -> None:
        """Begin the counters anew, with another scenario if given."""
        if scenario is not None:
            self.use(scenario)
        self._call("POST", "/control/reset")

    def state(self) -> State:
        """Return the counters."""
        return State(**self._call("GET", "/control/state"))

    def settled(self, *, within: float = 10.0) -> State:
        """Wait until nothing is in flight and return the counters."""
        end = time.monotonic() + within
        while (state := self.state()).in_flight and time.monotonic() < end:
            time.sleep(0.02)
        assert state.in_flight == 0, f"{state.in_flight} requests are still in flight"
        return state

    def _call(self, method: str, path: str, data: Any = None) -> Any:
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            method=method,
            data=json.dumps(data).encode() if data is not None else b"" if method == "POST" else None,
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
            request, timeout=10
        ) as response:
            return json.load(response)


async def _serve(chat: ChatApp, port: int, ready: Any, stop: asyncio.Event) -> None:
    application = chat.application()
    Batches(chat).add_routes(application)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, backlog=1024)
    await site.start()
    ready(runner.addresses[0][1])
    try:
        await stop.wait()
    finally:
        await runner.cleanup()


@contextmanager
def serving(scenario: Scenario | None = None) -> Iterator[Server]:
    """Run a server on a free port in a thread of this process while the block lasts."""
    started, found = threading.Event(), {}

    async def main() -> None:
        found["stop"], found["loop"] = asyncio.Event(), asyncio.get_running_loop()

        def ready(port: int) -> None:
            found["port"] = port
            started.set()

        await _serve(ChatApp(scenario or Scenario()), 0, ready, found["stop"])

    thread = threading.Thread(target=lambda: asyncio.run(main()), name="chat-server", daemon=True)
    thread.start()
    assert started.wait(10), "the chat server did not start"
    try:
        yield Server(found["port"])
    finally:
        found["loop"].call_soon_threadsafe(found["stop"].set)
        thread.join(10)


@pytest.fixture
def chat_server() -> Iterator[Server]:
    """A running server that answers "no error" at once, until told otherwise."""
    with serving() as server:
        yield server


def main() -> None:
    parser = argparse.ArgumentParser(description="A local server that speaks the protocols of models.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--scenario", default="{}", help="a Scenario as JSON")
    options = parser.parse_args()
    chat = ChatApp(Scenario.from_json(json.loads(options.scenario)))

    async def run() -> None:
        await _serve(chat, options.port, lambda port: print(port, flush=True), asyncio.Event())

    with suppress(KeyboardInterrupt):
        asyncio.run(run())
