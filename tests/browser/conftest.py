"""A real Chromium for the tests of pages: no console error, no breach of the security policy is let pass."""

from __future__ import annotations

import os
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest
from django.core.servers.basehttp import ThreadedWSGIServer
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

from core.models import User
from tests.conftest import skip_or_fail

# Playwright's synchronous interface runs an event loop in the test's thread, where Django would refuse queries.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
EXPECTED_STATUS = ("409 (Conflict)", "422 (Unprocessable", "net::ERR_INTERNET_DISCONNECTED")


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """The machine's Chromium; the test is skipped, with the reason, where there is none.

    For this folder, not for the session: while Playwright lives its event loop runs in this thread, and every later
    test of the same process that starts a loop of its own would fail.
    """
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        skip_or_fail("no Chromium on this machine (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


class _Served:
    """The connections that the site still serves, each in a thread with a database connection of its own."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._open = 0

    def count(self, change: int) -> None:
        with self._changed:
            self._open += change
            self._changed.notify_all()

    def drained(self, host: str, port: int) -> bool:
        """Wait until nothing is served any more, connections that are not yet accepted included."""
        # They are accepted in their order: once this one was, so were all before it.
        with closing(socket.create_connection((host, port), timeout=20)) as last:
            last.shutdown(socket.SHUT_WR)
            last.recv(1)
        with self._changed:
            return self._changed.wait_for(lambda: self._open == 0, timeout=20)


@pytest.fixture(scope="session")
def served() -> Iterator[_Served]:
    """What the live server serves, from before its first connection on."""
    counted = _Served()
    accept, serve = ThreadedWSGIServer.process_request, ThreadedWSGIServer.process_request_thread

    def accepted(self: Any, request: Any, client_address: Any) -> None:
        counted.count(+1)
        accept(self, request, client_address)

    def serving(self: Any, request: Any, client_address: Any) -> None:
        try:
            serve(self, request, client_address)
        finally:
            counted.count(-1)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ThreadedWSGIServer, "process_request", accepted)
        patch.setattr(ThreadedWSGIServer, "process_request_thread", serving)
        yield counted


@pytest.fixture
def open_page(
    chromium: Browser, served: _Served, live_server: Any, client: Any
) -> Iterator[Callable[..., Page]]:
    """Return a function that opens a page, signed in as a person; each call is a window of its own.

    At the end no page may have shown an error in its console, and no request may still be at work: it would
    write into the next test's database, or stand in the way of the flush.
    """
    contexts: list[BrowserContext] = []
    problems: list[str] = []

    def noticed(message: ConsoleMessage) -> None:
        expected = any(words in message.text for words in EXPECTED_STATUS)
        if message.type in ("error", "warning") and not expected:
            problems.append(message.text)

    def open_(
        person: User | None = None, *, path: str = "/", context: BrowserContext | None = None, **options: Any
    ) -> Page:
        if context is None:
            size = {"width": 1280, "height": 860}
            context = chromium.new_context(
                base_url=live_server.url, **{"viewport": size, "locale": "en-GB", **options}
            )
            contexts.append(context)
            if person is not None:
                client.force_login(person)
                cookie = client.cookies["sessionid"]
                context.add_cookies([{"name": "sessionid", "value": cookie.value, "url": live_server.url}])
        page = context.new_page()
        page.on("console", noticed)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(path)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert served.drained(live_server.thread.host, live_server.thread.port), "a request does not end"
    assert problems == []
