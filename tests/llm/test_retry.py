"""After a failure: how long to wait, from the headers and from the number of the attempt, or to give up."""

from __future__ import annotations

import random
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm.headers import kept, retry_after
from llm.retry import LONGEST_ASKED_SECONDS, LONGEST_SECONDS, GiveUp, Retry, decide
from llm.types import ProviderError

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "5"}, 5.0),
        ({"retry-after": " 0.5 "}, 0.5),
        ({"Retry-After": "-5"}, 0.0),
        ({"Retry-After": "Sun, 01 Mar 2026 12:00:30 GMT"}, 30.0),
        ({"Retry-After": "Sun, 01 Mar 2026 11:00:00 GMT"}, 0.0),
        ({"Retry-After": "Sunday"}, None),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": ""}, None),
        ({"Retry-After": "9", "retry-after-ms": "1500"}, 1.5),
        ({"Retry-After": "9", "retry-after-ms": "soon"}, 9.0),
        ({"x-ratelimit-reset-requests": "120ms"}, 0.12),
        ({"x-ratelimit-reset-requests": "1h2m3.5s"}, 3723.5),
        ({"x-ratelimit-reset-requests": "6m0s", "x-ratelimit-reset-tokens": "1s"}, 360.0),
        ({"x-ratelimit-reset-tokens": "6m0s", "x-ratelimit-remaining-tokens": "900"}, None),
        ({"x-ratelimit-reset-tokens": "6m0s", "x-ratelimit-remaining-tokens": "0"}, 360.0),
        ({"X-RateLimit-Reset": "12"}, 12.0),
        ({"X-RateLimit-Reset": str(int(NOW.timestamp()) + 7)}, 7.0),
        ({"X-RateLimit-Reset": str((int(NOW.timestamp()) + 7) * 1000)}, 7.0),
        ({"X-RateLimit-Reset": "1000000000"}, 0.0),
        ({"ratelimit-reset": "later"}, None),
        ({"x-ratelimit-reset": ""}, None),
        ({"retry-after": "4", "x-ratelimit-reset": "99"}, 4.0),
        ({"anthropic-ratelimit-input-tokens-reset": "2026-03-01T12:00:07Z"}, 7.0),
        (
            {
                "anthropic-ratelimit-requests-reset": "2026-03-01T12:00:07Z",
                "anthropic-ratelimit-requests-remaining": "3",
            },
            None,
        ),
        ({"anthropic-ratelimit-requests-reset": "0001-01-01T00:00:00+14:00"}, 0.0),
    ],
)
def test_the_headers_tell_how_long_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, now=NOW) == (None if seconds is None else pytest.approx(seconds))


@given(
    st.dictionaries(
        st.sampled_from(["retry-after", "retry-after-ms", "x-ratelimit-reset"]),
        st.text() | st.datetimes().map(str),
    )
)
def test_no_header_makes_it_fail(headers: dict[str, str]) -> None:
    seconds = retry_after(headers, now=NOW)
    assert seconds is None or seconds >= 0.0


def test_only_headers_of_rates_and_requests_are_kept() -> None:
    headers = {"X-RateLimit-Limit": "9" * 300, "Set-Cookie": "s", "X-Request-Id": "r", "Authorization": "a"}
    headers["anthropic-ratelimit-requests-remaining"] = "4"
    assert kept(headers) == {
        "x-ratelimit-limit": "9" * 200,
        "x-request-id": "r",
        "anthropic-ratelimit-requests-remaining": "4",
    }


def failed(kind: str, wait: float | None = None) -> ProviderError:
    return ProviderError("x", kind=kind, retry_after=wait)  # type: ignore[arg-type]


def test_a_permanent_error_is_never_tried_again() -> None:
    assert isinstance(decide(failed("permanent", 1), attempt=1, max_attempts=9, rng=random.Random(0)), GiveUp)


@pytest.mark.parametrize("kind", ["transient", "rate_limit"])
def test_it_gives_up_when_all_attempts_are_used(kind: str) -> None:
    assert isinstance(decide(failed(kind), attempt=2, max_attempts=3, rng=random.Random(0)), Retry)
    assert decide(failed(kind), attempt=3, max_attempts=3, rng=random.Random(0)) == GiveUp(
        "all 3 attempts are used"
    )
    assert isinstance(decide(failed(kind), attempt=1, max_attempts=1, rng=random.Random(0)), GiveUp)


def test_attempts_are_counted_from_one() -> None:
    with pytest.raises(ValueError, match="from 1"):
        decide(failed("transient"), attempt=0, max_attempts=3, rng=random.Random(0))


@given(attempt=st.integers(1, 5000), seed=st.integers())
def test_the_wait_doubles_up_to_a_minute_within_its_upper_half(attempt: int, seed: int) -> None:
    decision = decide(failed("transient"), attempt=attempt, max_attempts=5001, rng=random.Random(seed))
    assert isinstance(decision, Retry)
    full = min(LONGEST_SECONDS, 2.0 ** min(attempt - 1, 10))
    assert full / 2 <= decision.after_seconds <= full


@given(asked=st.floats(0, 1e9), attempt=st.integers(1, 20), seed=st.integers())
def test_what_the_provider_asks_for_is_waited_at_least_but_capped(
    asked: float, attempt: int, seed: int
) -> None:
    decision = decide(failed("rate_limit", asked), attempt=attempt, max_attempts=21, rng=random.Random(seed))
    assert isinstance(decision, Retry)
    assert decision.after_seconds >= min(asked, LONGEST_ASKED_SECONDS)
    assert decision.after_seconds <= max(LONGEST_SECONDS, min(1.1 * asked, LONGEST_ASKED_SECONDS))


def test_the_same_seed_decides_alike_and_another_differently() -> None:
    def waits(seed: int) -> list[Retry | GiveUp]:
        rng = random.Random(seed)
        return [decide(failed("transient"), attempt=3, max_attempts=9, rng=rng) for _ in range(5)]

    assert waits(1) == waits(1)
    assert waits(1) != waits(2)
    assert len(set(waits(1))) == 5


def test_an_absurd_wish_is_ignored() -> None:
    decision = decide(failed("rate_limit", float("nan")), attempt=1, max_attempts=2, rng=random.Random(0))
    assert isinstance(decision, Retry)
    assert decision.after_seconds <= 1.0
