"""The driver: one event loop per worker process that claims, sends and settles the calls of a batch."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Literal

from django.utils import timezone

from core.errors import UserError
from llm.retry import LONGEST_ASKED_SECONDS
from llm.types import ProviderError
from monitoring.engine import claims, completion, pausing, settling
from monitoring.engine.answering import Answerer, answerer_for
from monitoring.engine.claims import Work
from monitoring.engine.database import Database
from monitoring.engine.limits import limits
from monitoring.engine.readings import Result
from monitoring.models import Run

log = logging.getLogger(__name__)

TICK = 0.2  # how soon a stop signal is seen while nothing else happens

End = Literal["done", "more"]


class Driver:
    """Drives one batch until nothing is left to claim, its slice of time is over, or it is told to stop."""

    def __init__(self, *, batch_id: int, owner: str, stop: Callable[[], bool]) -> None:
        self._batch_id = batch_id
        self._owner = owner
        self._stop = stop
        self._limits = limits()
        self._database = Database()
        self._runs: dict[int, Run] = {}
        self._answerers: dict[int, Answerer] = {}
        self._in_flight: dict[asyncio.Task[None], Work] = {}  # claimed and not settled
        self._lines = asyncio.Semaphore(self._limits.in_flight)
        self._asked_to_wait: dict[int, float] = {}  # by monitor, until when; on the clock of time.monotonic()
        self._results: list[Result] = []
        self._arrived = asyncio.Event()
        self._open = True

    async def drive(self) -> End:
        """Work on the batch; return "more" if work was left that somebody should go on with."""
        renewing = asyncio.create_task(self._renew())
        try:
            if not await self._load():
                return "done"
            end = await self._loop()
            await self._drain()
            await self._database(completion.finish_if_complete, self._batch_id)
            return end
        finally:
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)
            for answerer in self._answerers.values():
                await answerer.aclose()
            await self._database.aclose()

    async def _load(self) -> bool:
        """Get ready to answer; return False, with the batch paused, if that cannot be."""
        self._runs = await self._database(_runs_of, self._batch_id)
        for run in self._runs.values():
            try:
                self._answerers[run.pk] = answerer_for(run.settings)
            except UserError as error:
                await self._database(pausing.pause, self._batch_id, reason=f"{run.monitor.slug}: {error}")
                return False
        return True

    async def _loop(self) -> End:
        begun = idle_since = time.monotonic()
        while True:
            if self._stop() or time.monotonic() - begun > self._limits.slice:
                return "more"
            await self._settle()
            claimed = await self._claim()
            if claimed or self._in_flight:
                idle_since = time.monotonic()
                await self._wait()
            elif not self._open or not await self._worth_waiting(idle_since):
                return "done"

    async def _claim(self) -> int:
        """Claim what there is room for and send it on its way; return how many calls that were.

        Some are claimed ahead, so that the line of a reply is taken at once by the next request, and not only
        when the reply is settled and another call claimed.
        """
        most = self._limits.in_flight + self._limits.in_flight // 2
        room = min(most - len(self._in_flight), self._limits.claim_at_once)
        if not self._open or room <= 0:
            return 0
        claimed = await self._database(claims.claim, batch_id=self._batch_id, owner=self._owner, room=room)
        self._open = claimed.open
        for work in claimed.work:
            self._in_flight[asyncio.create_task(self._send(work))] = work
        return len(claimed.work)

    async def _send(self, work: Work) -> None:
        reply, error = None, None
        try:
            async with self._lines:
                while (wait := self._asked_to_wait.get(work.monitor_id, 0.0) - time.monotonic()) > 0:
                    await asyncio.sleep(wait)
                reply = await self._answerers[work.run_id].answer(work)
        except ProviderError as caught:
            error = caught
            if caught.kind == "rate_limit":
                # What is claimed already waits too, as what is claimed later does.
                until = time.monotonic() + min(caught.retry_after or 0.0, LONGEST_ASKED_SECONDS)
                self._asked_to_wait[work.monitor_id] = until
        except Exception as caught:
            # One broken call must not take hundreds down with it; it is recorded as what it was.
            log.exception("call %s: an unexpected error", work.call_id)
            error = ProviderError(f"{type(caught).__name__}: {caught}", kind="permanent")
        self._results.append(Result(work=work, finished_at=timezone.now(), reply=reply, error=error))
        self._arrived.set()

    async def _wait(self) -> None:
        """Wait until a result arrives, or a moment."""
        try:
            await asyncio.wait_for(self._arrived.wait(), timeout=TICK)
        except TimeoutError:
            return

    async def _settle(self) -> None:
        """Write every result that arrived, together."""
        self._arrived.clear()
        results, self._results = self._results, []
        if results:
            await self._database(
                settling.settle_each, batch_id=self._batch_id, owner=self._owner, results=results
            )
        # Only now are they out of flight: until it is settled a call keeps its lease renewed.
        settled = {result.work.call_id for result in results}
        for task in [task for task, work in self._in_flight.items() if work.call_id in settled]:
            del self._in_flight[task]

    async def _worth_waiting(self, idle_since: float) -> bool:
        """Sleep a moment if a call will be claimable soon; return False if there is nothing to stay for."""
        due = await self._database(claims.next_due, self._batch_id)
        if due is None:
            return False
        seconds = (due - timezone.now()).total_seconds()
        if time.monotonic() - idle_since + max(seconds, 0) > self._limits.patience:
            return False  # the sweeper wakes somebody when it is time
        await asyncio.sleep(min(max(seconds, TICK), 1.0))
        return True

    async def _drain(self) -> None:
        """Let what is in flight end, within a time if we are told to stop; give the rest back."""
        deadline: float | None = None
        while self._in_flight:
            await self._settle()
            if not self._in_flight:
                break
            if self._stop():
                deadline = deadline or time.monotonic() + self._limits.drain
                if time.monotonic() > deadline:
                    await self._give_back()
                    break
            await self._wait()

    async def _give_back(self) -> None:
        for task in self._in_flight:
            task.cancel()
        await asyncio.gather(*self._in_flight, return_exceptions=True)
        await self._settle()
        left = [work.call_id for work in self._in_flight.values()]
        self._in_flight.clear()
        await self._database(
            settling.release,
            batch_id=self._batch_id,
            owner=self._owner,
            call_ids=left,
            now=timezone.now(),
        )

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(self._limits.renew)
            if held := [work.call_id for work in self._in_flight.values()]:
                await self._database(claims.renew, owner=self._owner, call_ids=held)


def _runs_of(batch_id: int) -> dict[int, Run]:
    # All of them: an order to try again may set a finished run going while we drive.
    return Run.objects.filter(batch_id=batch_id).select_related("monitor").in_bulk()


def drive(*, batch_id: int, owner: str, stop: Callable[[], bool] = lambda: False) -> End:
    """Drive a batch in an event loop of its own; see Driver.drive."""

    async def main() -> End:
        return await Driver(batch_id=batch_id, owner=owner, stop=stop).drive()

    return asyncio.run(main())
