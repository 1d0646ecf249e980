"""The adaptive limit: one episode of rate limits halves it once, successes grow it back slowly."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm.limiter import COOL_DOWN_SECONDS, AdaptiveLimit, Limiter
from llm.retry import LONGEST_ASKED_SECONDS
from llm.types import ProviderError


def test_it_begins_at_its_ceiling() -> None:
    limit = AdaptiveLimit(ceiling=8)
    assert limit.allowed == 8
    assert limit.admits(7, now=0)
    assert not limit.admits(8, now=0)


def test_it_needs_room_for_one() -> None:
    with pytest.raises(ValueError, match="at least one"):
        AdaptiveLimit(ceiling=0)


def test_nine_rate_limits_of_one_episode_halve_it_once() -> None:
    limit = AdaptiveLimit(ceiling=16)
    for k in range(9):
        limit = limit.limited(started=10.0, now=11.0 + k / 10)
    assert limit.allowed == 8


def test_a_request_that_left_after_the_shrink_begins_another_episode() -> None:
    limit = AdaptiveLimit(ceiling=16).limited(started=10.0, now=11.0).limited(started=11.5, now=12.0)
    assert limit.allowed == 4


def test_it_never_falls_below_one() -> None:
    limit = AdaptiveLimit(ceiling=5)
    for k in range(10):
        limit = limit.limited(started=2.0 * k + 1, now=2.0 * k + 2)
    assert limit.allowed == 1


def test_it_grows_by_one_for_a_limits_worth_of_answers_after_the_cool_down() -> None:
    limit = AdaptiveLimit(ceiling=16).limited(started=0.0, now=0.5)
    for _ in range(100):
        limit = limit.succeeded(now=0.5 + COOL_DOWN_SECONDS - 0.1)
    assert limit.allowed == 8
    for _ in range(9):
        limit = limit.succeeded(now=0.5 + COOL_DOWN_SECONDS)
    assert limit.allowed == 9
    for _ in range(500):
        limit = limit.succeeded(now=100.0)
    assert limit.allowed == 16


def test_nothing_leaves_before_the_provider_wants_it() -> None:
    limit = AdaptiveLimit(ceiling=4).limited(started=0.0, now=1.0, retry_after=3.0)
    assert not limit.admits(0, now=3.9)
    assert limit.admits(0, now=4.0)
    assert limit.limited(started=0.0, now=1.5, retry_after=1.0).not_before == 4.0
    assert (
        AdaptiveLimit(ceiling=4).limited(started=0.0, now=0.0, retry_after=1e9).not_before
        == LONGEST_ASKED_SECONDS
    )


EVENTS = st.lists(st.tuples(st.booleans(), st.floats(0, 5), st.floats(0, 3)), max_size=80)


@given(ceiling=st.integers(1, 50), events=EVENTS)
def test_it_stays_between_one_and_its_ceiling(ceiling: int, events: list[tuple[bool, float, float]]) -> None:
    limit, now = AdaptiveLimit(ceiling=ceiling), 0.0
    for good, step, took in events:
        now += step
        before = limit.current
        limit = limit.succeeded(now=now) if good else limit.limited(started=now - took, now=now)
        assert 1 <= limit.allowed <= ceiling
        assert limit.current >= before if good else limit.current <= before


def test_a_limiter_holds_callers_to_the_limit_in_their_order() -> None:
    async def main() -> tuple[int, list[int]]:
        limiter, most, order = Limiter(AdaptiveLimit(ceiling=3)), 0, []

        async def call(number: int) -> None:
            nonlocal most
            async with limiter.slot():
                order.append(number)
                most = max(most, limiter.in_flight)
                await asyncio.sleep(0.001)

        await asyncio.gather(*(call(number) for number in range(30)))
        assert limiter.in_flight == 0
        return most, order

    assert asyncio.run(main()) == (3, list(range(30)))


def test_a_rate_limit_within_a_slot_shrinks_and_other_failures_do_not() -> None:
    async def main() -> list[int]:
        limiter, allowed = Limiter(AdaptiveLimit(ceiling=8)), []
        for kind in ("transient", "permanent", "rate_limit"):
            with pytest.raises(ProviderError):
                async with limiter.slot():
                    raise ProviderError("x", kind=kind)  # type: ignore[arg-type]
            allowed.append(limiter.limit.allowed)
        assert limiter.in_flight == 0
        return allowed

    assert asyncio.run(main()) == [8, 8, 4]


def test_callers_wake_by_themselves_when_the_asked_time_is_over() -> None:
    async def main() -> float:
        loop = asyncio.get_running_loop()
        limiter = Limiter(AdaptiveLimit(ceiling=2).limited(started=0, now=loop.time(), retry_after=0.1))
        began = loop.time()
        async with asyncio.timeout(5), limiter.slot():
            return loop.time() - began

    assert asyncio.run(main()) >= 0.09


def test_cancelled_callers_lose_no_place() -> None:
    async def main() -> None:
        rng = random.Random(0)
        limiter = Limiter(AdaptiveLimit(ceiling=2))

        async def call() -> None:
            async with limiter.slot():
                await asyncio.sleep(0.001)

        for _ in range(20):
            tasks = [asyncio.create_task(call()) for _ in range(10)]
            await asyncio.sleep(0.0005)
            for task in rng.sample(tasks, 5):
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            assert limiter.in_flight == 0
        async with asyncio.timeout(5):
            await asyncio.gather(call(), call(), call())

    asyncio.run(main())
