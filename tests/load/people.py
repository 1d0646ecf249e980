"""People at their browsers: one labels, one settles disputes, one watches a batch. Each is a thread with a ledger.

They do what the pages do. A form that was answered by an error page, or not at all, is sent again as it stood, with
the revision it was read at: the browser's "try again". A draft goes out before each submission, as the desk's script
sends it (once: the script keeps what failed in the browser), and the part of a batch's page that moves is fetched
every two seconds, as htmx does it.
"""

from __future__ import annotations

import html
import http.client
import random
import re
import threading
import time
from collections.abc import Callable

from tests.bench.desk_load import Person
from tests.load.accounting import Ledger, Request
from tests.load.fill import SLUG

AGAIN = 1.0  # seconds until somebody tries again
POLL = 2.0  # as in templates/monitoring/_progress.html
KEPT = 1.5  # seconds after which a connection is made anew: gunicorn keeps one for two
TIMEOUT = 20.0
FIELD = re.compile(r'name="(\w+)" value="([^"]*)"')
MARK = re.compile(r'name="ruling" value="([A-Z])"')


class Away(Exception):
    """Time is over."""


class Browser(Person):
    """A person with a ledger and a clock to stop at."""

    until = float("inf")

    def __init__(self, port: int, session: str, *, name: str, chance: random.Random) -> None:
        super().__init__(port, session)
        self.connection.timeout = TIMEOUT
        self.name = name
        self.chance = chance
        self.ledger = Ledger()
        self._used = 0.0

    def think(self, shortest: float, longest: float) -> None:
        """Think for a while."""
        self.wait(self.chance.uniform(shortest, longest))

    def wait(self, seconds: float) -> None:
        """Do nothing for so long, or leave at the end of the time."""
        left = self.until - time.monotonic()
        if left <= 0:
            raise Away
        time.sleep(min(seconds, left))

    def ask(self, kind: str, path: str, *wanted: int, **form: str) -> tuple[str, str]:
        """Send a request until the answer's status is a wanted one; return (location, body).

        Forms go on being sent a while after the time is over: what was typed is to arrive.
        """
        while True:
            if found := self.once(kind, path, *wanted, **form):
                return found
            if time.monotonic() > self.until + (TIMEOUT if form else 0):
                raise Away
            time.sleep(AGAIN)

    def once(self, kind: str, path: str, *wanted: int, **form: str) -> tuple[str, str] | None:
        """Send a request; return (location, body), None if it failed."""
        begun = time.monotonic()
        if begun - self._used > KEPT:
            self.connection.close()
        try:
            status, location, text, _ = self.call(path, **form)
            error = "" if status in wanted else f"status {status}"
        except (OSError, http.client.HTTPException) as lost:
            self.connection.close()
            error = type(lost).__name__
        self._used = time.monotonic()
        self.ledger.requests.append(Request(kind, begun, self._used - begun, error))
        return None if error else (location, text)


def label(browser: Browser, think: tuple[float, float]) -> None:
    """Read a trace, think, have the draft kept, submit, and go on to the next, as the desk does it."""
    place, _ = browser.ask("next", f"/studies/{SLUG}/queue/next/", 302, go="1")
    while True:
        if "/traces/" not in place:
            raise RuntimeError(f"{browser.name} was sent to {place}")
        _, page = browser.ask("read a trace", place, 200)
        if page.count('class="step"') != 12:
            raise RuntimeError(f"{browser.name} was shown no trace at {place}")
        fields = dict(FIELD.findall(page))
        browser.think(*think)
        number = browser.ledger.loops
        step = str(1 + number % 12) if number % 10 == 9 else ""
        form = {
            "final": "right",
            "first_error": "step" if step else "none",
            "step": step,
            "comment": f"{browser.name}, {number}",
            "active_seconds": "2",
            "revision": fields["revision"],
        }
        now = str(int(1000 * time.time()))
        draft = {
            "draft_version": fields["draft_version"],
            "writer": f"{browser.name}-{number}",
            "sequence": now,
            "started": now,
        }
        browser.once("keep a draft", f"{place}draft/", 200, **form, **draft)
        key, values = (browser.name, place.split("/")[-2]), (step, form["comment"])
        browser.ledger.sent[key] = values
        place, _ = browser.ask("submit a label", place, 302, **form, then="next")
        browser.ledger.acknowledged[key] = values
        browser.ledger.loops += 1


def settle(browser: Browser, think: tuple[float, float], first: str) -> None:
    """Read a dispute, think, decide for a proposal, and go on to the next one."""
    place = f"/studies/{SLUG}/disputes/{first}/"
    while True:
        _, page = browser.ask("read a dispute", place, 200)
        fields, marks = dict(FIELD.findall(page)), MARK.findall(page)
        if not marks:
            raise RuntimeError(f"{browser.name} was shown nothing to decide at {place}")
        browser.think(*think)
        number = browser.ledger.loops
        form = {
            "ruling": marks[number % len(marks)],
            "rationale": f"{browser.name}, {number}",
            "expected_revision": fields["expected_revision"],
            "seen": html.unescape(fields["seen"]),
        }
        key, values = (browser.name, place.split("/")[-2]), (form["ruling"], form["rationale"])
        browser.ledger.sent[key] = values
        place, _ = browser.ask("decide a dispute", f"{place}decide/", 302, **form)
        browser.ledger.acknowledged[key] = values
        browser.ledger.loops += 1


def watch(browser: Browser, number: int) -> None:
    """Look at a batch's page, and have the part that moves fetched again and again, until it stands still."""
    page = f"/studies/{SLUG}/batches/{number}/"
    browser.ask("a batch", page, 200)
    browser.headers["HX-Request"] = "true"
    while True:
        browser.wait(POLL)
        browser.ask("how a batch stands", f"{page}progress/?status=running", 200)
        browser.ledger.loops += 1


def start(
    browser: Browser, work: Callable[[], None], *, until: float, within: float, failures: list[str]
) -> threading.Thread:
    """Let a person begin within so many seconds and work until a moment; what ends them early is a failure."""
    browser.until = until

    def run() -> None:
        try:
            browser.think(0.0, within)
            work()
        except Away:
            return
        except Exception as error:
            failures.append(f"{browser.name}: {type(error).__name__}: {error}")
        finally:
            browser.connection.close()

    thread = threading.Thread(target=run, name=browser.name, daemon=True)
    thread.start()
    return thread
