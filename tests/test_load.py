"""What the load run counts as lost, felt and slow: its own accounting, and its people's retries, without servers."""

from __future__ import annotations

import http.server
import random
import threading
import time
from collections.abc import Iterator

import pytest

from tests.load.accounting import (
    Ledger,
    Request,
    account,
    errors,
    percentile,
    rate,
    recovery,
    standstill,
    table,
)
from tests.load.outcome import KINDS, Fault, Options, Outcome, missed
from tests.load.people import Away, Browser

ONE, TWO, THREE = ("ana", "t1"), ("ana", "t2"), ("bob", "t1")


def _ledger(sent: dict[tuple[str, str], tuple[str, ...]], *acknowledged: tuple[str, str]) -> Ledger:
    return Ledger(sent=sent, acknowledged={key: sent[key] for key in acknowledged})


def test_what_was_acknowledged_and_is_not_kept_as_it_was_sent_is_lost() -> None:
    ana = _ledger({ONE: ("3", "a"), TWO: ("", "b")}, ONE, TWO)
    bob = _ledger({THREE: ("", "c")}, THREE)
    found = account([ana, bob], [(ONE, ("3", "a")), (TWO, ("1", "b"))])
    assert (found.acknowledged, found.lost, found.strange) == (3, (TWO, THREE), (TWO,))
    whole = account([ana, bob], [(ONE, ("3", "a")), (TWO, ("", "b")), (THREE, ("", "c"))])
    assert (whole.lost, whole.twice, whole.strange, whole.unanswered) == ((), (), (), 0)


def test_a_second_row_and_a_row_that_nobody_sent_are_told() -> None:
    ana = _ledger({ONE: ("3", "a")}, ONE)
    found = account([ana], [(ONE, ("3", "a")), (ONE, ("3", "a")), (TWO, ("", "x"))])
    assert (found.lost, found.twice, found.strange) == ((), (ONE,), (TWO,))


def test_what_was_sent_without_an_answer_may_be_kept_or_not() -> None:
    ana = _ledger({ONE: ("3", "a"), TWO: ("", "b")}, ONE)
    for kept in ([(ONE, ("3", "a"))], [(ONE, ("3", "a")), (TWO, ("", "b"))]):
        found = account([ana], kept)
        assert (found.lost, found.strange, found.unanswered) == ((), (), 1)


def test_a_fault_is_felt_until_the_last_failed_or_slow_request_before_the_next() -> None:
    requests = [
        Request("read", 9.0, 0.1, "status 500"),  # before it
        Request("read", 9.9, 1.2, "status 500"),
        Request("read", 11.0, 5.5),
        Request("read", 17.0, 0.1),
        Request("read", 21.0, 0.1, "status 500"),  # of the next one
    ]
    assert recovery(requests, at=10.0, until=20.0) == pytest.approx(6.5)
    assert recovery(requests[-2:-1], at=10.0, until=20.0) == 0.0


def test_speeds_are_those_of_the_looks_between_two_moments() -> None:
    looks = [(0.0, 0), (1.0, 10), (2.0, 20), (3.0, 20), (7.0, 20), (8.0, 24)]
    assert rate(looks, begin=0.5, end=2.5) == 10.0
    assert rate(looks, begin=2.0, end=8.0) == pytest.approx(4 / 6)
    assert rate(looks, begin=3.5, end=6.5) == 0.0
    assert standstill(looks, begin=1.0, end=8.5) == 6.0
    assert standstill(looks, begin=2.5, end=7.5) == 5.0
    assert standstill(looks, begin=0.0, end=2.0) == 1.0


def test_the_table_tells_errors_apart_from_times() -> None:
    requests = [Request("read", 0.0, n / 1000) for n in range(1, 101)] + [
        Request("read", 0.0, 9.0, "status 500")
    ]
    assert percentile([], 0.95) == 0.0
    assert table(requests, {"read": 40})[2:] == ["| read | 40 | 101 | 1 | 51 ms | 96 ms | 100 ms |"]
    assert errors(requests) == ["1 x read: status 500"]


def _outcome() -> Outcome:
    """Return a run that held: one request of each kind, a label, a decision, a batch at one speed throughout."""
    people = [Browser(9, "s", name=f"{kind}-0", chance=random.Random(1)) for kind in KINDS]
    for person, pages in zip(people, KINDS.values(), strict=True):
        person.ledger.requests = [Request(page, 12.0, 0.1) for page in pages]
    made = account([_ledger({ONE: ("3", "a")}, ONE)], [(ONE, ("3", "a"))])
    batch = dict.fromkeys(("verdicts", "traces with a verdict", "calls with one accepted reply"), 40)
    return Outcome(
        people=people,
        failures=[],
        counts=[(float(second), 2 * second) for second in range(41)],
        begun=10.0,
        ended=20.0,
        finished=40.0,
        faults=[],
        computing={},
        labels=made,
        decisions=made,
        batch=batch | {"left open": 0, "attempts lost": 0},
        broken=[],
    )


def test_a_run_holds_only_without_errors_losses_and_slowness() -> None:
    options = Options(calls=40)
    assert missed(_outcome(), options) == []
    outcome = _outcome()
    outcome.labels = account([_ledger({ONE: ("3", "a")}, ONE)], [])
    outcome.batch |= {"verdicts": 39, "attempts lost": 3}
    outcome.counts = [(at, number if at < 10 else 20 + int(at - 10)) for at, number in outcome.counts]
    outcome.people[0].ledger.requests[1:] = [
        Request("read a trace", 12.0, 0.5),
        Request("submit a label", 12.0, 0.1, "status 500"),
    ]
    assert missed(outcome, options) == [
        "1 labels lost, such as ('ana', 't1')",
        "verdicts: 39, not 40",
        "1 x submit a label: status 500",
        "read a trace: p95 500 ms",
        "the batch kept 0.50 of its speed",
    ]


def test_under_faults_requests_may_fail_for_ten_seconds_from_when_the_server_is_back() -> None:
    outcome, options = _outcome(), Options(calls=40, faults=True)
    outcome.faults = [Fault("the first", 11.0, 13.0), Fault("the second", 30.0, 30.0)]
    requests = outcome.people[0].ledger.requests
    requests.append(Request("next", 22.0, 1.0, "status 500"))
    assert missed(outcome, options) == []
    requests.append(Request("next", 23.0, 1.0, "status 500"))
    assert missed(outcome, options) == ["the first: felt for 11.0 s"]


class _Site(http.server.BaseHTTPRequestHandler):
    """Fails as told, then takes the form."""

    fails: list[str] = []
    taken: list[bytes] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        fault = self.fails.pop(0) if self.fails else ""
        if fault == "lost":  # taken, but the answer does not arrive
            self.taken.append(body)
            self.close_connection = True
            return
        if not fault:
            self.taken.append(body)
        self.send_response(500 if fault else 302)
        self.send_header("Location", "/next/")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> Iterator[Browser]:
    monkeypatch.setattr("tests.load.people.AGAIN", 0.0)
    _Site.fails, _Site.taken = [], []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Site)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    made = Browser(server.server_address[1], "s", name="ana", chance=random.Random(1))
    yield made
    made.connection.close()
    server.shutdown()
    server.server_close()


def test_a_form_is_sent_again_as_it_stood_until_it_is_taken(browser: Browser) -> None:
    _Site.fails = ["500", "lost"]
    assert browser.ask("save", "/", 302, revision="0") == ("/next/", "")
    assert len(_Site.taken) == 2 and len(set(_Site.taken)) == 1
    assert [one.error for one in browser.ledger.requests] == ["status 500", "RemoteDisconnected", ""]


def test_time_that_is_over_ends_a_wait_and_what_is_in_vain(browser: Browser) -> None:
    browser.until = time.monotonic()
    with pytest.raises(Away):
        browser.wait(1.0)
    browser.until -= 60
    _Site.fails = ["500"]
    with pytest.raises(Away):
        browser.ask("save", "/", 302, revision="0")
