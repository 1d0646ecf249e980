"""Runs that are asked through a provider's batch API: calls handed in together, settled like any other (ADR 6)."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import secrets
from collections.abc import Sequence
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from core.errors import UserError
from llm import batches
from llm.batches import BatchProvider, UnfitBatch
from llm.batches.types import Outcome
from llm.types import BadProvider, ChatRequest, Message, ProviderError, Reply
from monitoring.engine import claims, pausing, priors, settling
from monitoring.engine.answering import key_of, refuse_private_address
from monitoring.engine.claims import Work
from monitoring.engine.completion import finish_if_complete
from monitoring.engine.database import Database
from monitoring.engine.limits import limits
from monitoring.engine.options import PROVIDER_BATCHES
from monitoring.engine.readings import Result
from monitoring.models import Attempt, Batch, Call, ProviderBatch, Run

log = logging.getLogger(__name__)

LEASE = 40 * 24 * 3600.0  # its calls are held as long as any provider may take; its own end frees them
SUBMITTING = 600.0  # after which whoever was handing it in is taken for dead
CHUNK = 1000  # calls: a crash while handing in costs one chunk at most, where the provider keeps no tag
SLICE = 500


def step(batch_id: int) -> None:
    """Do what is due in a batch: look for what was lost, poll, settle what is over, hand in what is pending."""
    runs = Run.objects.filter(batch_id=batch_id, settings__via=PROVIDER_BATCHES).select_related(
        "monitor", "batch"
    )
    for run in runs:
        try:
            provider = _provider(run)
        except (BadProvider, UserError) as error:
            pausing.pause(batch_id, reason=f"{run.monitor.slug}: {error}")
            return
        asyncio.run(_Chunks(run, provider).step())
    finish_if_complete(batch_id)


def is_due(batch_id: int) -> bool:
    """Whether anything is to be done for a batch's runs of this kind."""
    now = timezone.now()
    runs = Run.objects.filter(batch_id=batch_id, settings__via=PROVIDER_BATCHES, status=Run.Status.RUNNING)
    if not runs.exists():
        return False
    late = Q(status=ProviderBatch.Status.WAITING, next_poll_at__lte=now)
    lost = Q(status=ProviderBatch.Status.SUBMITTING, lease_until__lte=now)
    if ProviderBatch.objects.filter(late | lost, run__batch_id=batch_id).exists():
        return True
    pending = Call.objects.filter(run__in=runs, run__batch__status=Batch.Status.RUNNING)
    due = Q(not_before__isnull=True) | Q(not_before__lte=now)
    return pending.filter(due, status=Call.Status.PENDING).exists()


def _provider(run: Run) -> BatchProvider:
    refuse_private_address(run.settings["base_url"])
    return batches.build(
        run.settings["provider"],
        base_url=run.settings["base_url"],
        key=key_of(run.settings["key_env"]),
        options=run.settings["options"],
        allow_private=settings.ALLOW_PRIVATE_PROVIDERS,
    )


class _Chunks:
    """The chunks of one run."""

    def __init__(self, run: Run, provider: BatchProvider) -> None:
        self._run = run
        self._provider = provider
        self._database = Database()

    async def step(self) -> None:
        try:
            for chunk in await self._database(self._found, ProviderBatch.Status.SUBMITTING):
                await self._look_for(chunk)
            for chunk in await self._database(self._found, ProviderBatch.Status.WAITING):
                await self._poll(chunk)
            while claimed := await self._database(self._claim):
                for chunk, works in claimed:
                    await self._hand_in(chunk, works)
        finally:
            await self._provider.aclose()
            await self._database.aclose()

    def _found(self, status: ProviderBatch.Status) -> list[ProviderBatch]:
        """Take what is due: whoever moves its time forward has it."""
        now = timezone.now()
        time = "lease_until" if status == ProviderBatch.Status.SUBMITTING else "next_poll_at"
        taken = []
        for chunk in ProviderBatch.objects.filter(run=self._run, status=status, **{f"{time}__lte": now}):
            seconds = SUBMITTING if time == "lease_until" else _wait(chunk.polls)
            later = {time: now + timedelta(seconds=seconds), "polls": chunk.polls + 1}
            same = ProviderBatch.objects.filter(pk=chunk.pk, status=status, **{time: getattr(chunk, time)})
            if same.update(**later):
                taken.append(chunk)
        return taken

    def _claim(self) -> list[tuple[ProviderBatch, list[Work]]]:
        owner = "provider-batch:being-made"  # each chunk takes its calls over before the transaction ends
        with transaction.atomic():
            claimed = claims.claim(
                batch_id=self._run.batch_id,
                owner=owner,
                room=min(CHUNK, self._provider.limits.requests),
                run_id=self._run.pk,
                lease=LEASE,
            )
            by_key = {str(work.attempt_id): work for work in claimed.work}
            requests = [_request(work) for work in claimed.work]
            made = []
            for asked in batches.chunks(requests, self._provider) if requests else ():
                works = [by_key[request.key] for request in asked]
                chunk = ProviderBatch.objects.create(
                    run=self._run,
                    tag=secrets.token_hex(10),
                    n_calls=len(works),
                    lease_until=timezone.now() + timedelta(seconds=SUBMITTING),
                )
                ids = [work.call_id for work in works]
                Call.objects.filter(pk__in=ids).update(lease_owner=chunk.owner)
                made.append((chunk, works))
            return made

    async def _hand_in(self, chunk: ProviderBatch, works: list[Work]) -> None:
        try:
            handle = await self._provider.submit([_request(work) for work in works], tag=chunk.tag)
        except UnfitBatch as error:
            unfit = ProviderError(str(error), kind="permanent")
            await self._database(self._settle, chunk, [(work, unfit) for work in works], "over")
        except ProviderError as error:
            log.warning("chunk %s of %s: %s", chunk.tag, self._run, error)
            if error.kind == "transient":
                # It may have been taken nevertheless, or be taken only now.
                await self._look_for(chunk, for_good=not self._provider.finds)
            else:
                await self._database(self._settle, chunk, [(work, error) for work in works], "over")
        else:
            await self._database(self._handed_in, chunk, handle)

    async def _look_for(self, chunk: ProviderBatch, *, for_good: bool = True) -> None:
        """Find what may have been handed in; its calls are given back if not, `for_good` or at a later look."""
        handle = None
        if self._provider.finds:
            try:
                handle = await self._provider.find(chunk.tag)
            except ProviderError as error:
                log.warning("chunk %s cannot be looked for: %s", chunk.tag, error)
                return  # its lease runs out, and it is looked for again
        if handle:
            await self._database(self._handed_in, chunk, handle)
        elif for_good:
            await self._database(self._give_back, chunk)

    def _handed_in(self, chunk: ProviderBatch, handle: str) -> None:
        ProviderBatch.objects.filter(pk=chunk.pk).update(
            handle=handle,
            status=ProviderBatch.Status.WAITING,
            next_poll_at=timezone.now() + timedelta(seconds=_wait(0)),
            polls=0,
        )

    def _give_back(self, chunk: ProviderBatch) -> None:
        ids = list(Call.objects.filter(lease_owner=chunk.owner).values_list("pk", flat=True))
        settling.release(batch_id=self._run.batch_id, owner=chunk.owner, call_ids=ids, now=timezone.now())
        ProviderBatch.objects.filter(pk=chunk.pk).update(status=ProviderBatch.Status.OVER, error="lost")

    async def _poll(self, chunk: ProviderBatch) -> None:
        try:
            state = await self._provider.poll(chunk.handle)
            if not state.over:
                return
            works = {str(work.attempt_id): work for work in await self._database(_works_of, chunk)}
            slice_: list[tuple[Work, Outcome]] = []
            async for key, outcome in batches.joined(self._provider, chunk.handle, state, works):
                slice_.append((works[key], outcome))
                if len(slice_) == SLICE:
                    await self._database(self._settle, chunk, slice_)
                    slice_ = []
            await self._database(self._settle, chunk, slice_, "over")
        except ProviderError as error:
            if error.kind != "permanent":
                log.warning("chunk %s cannot be read now: %s", chunk.tag, error)
                return
            gone = [(work, error) for work in await self._database(_works_of, chunk)]
            await self._database(self._settle, chunk, gone, "over")

    def _settle(self, chunk: ProviderBatch, outcomes: Sequence[tuple[Work, Outcome]], end: str = "") -> None:
        now = timezone.now()
        results = [
            Result(work=work, finished_at=now, reply=outcome)
            if isinstance(outcome, Reply)
            else Result(work=work, finished_at=now, error=outcome)
            for work, outcome in outcomes
        ]
        if results:
            settling.settle_each(batch_id=self._run.batch_id, owner=chunk.owner, results=results)
        if end:
            ProviderBatch.objects.filter(pk=chunk.pk).update(status=ProviderBatch.Status.OVER)


def _works_of(chunk: ProviderBatch) -> list[Work]:
    """Return the calls that a chunk still holds, as they were claimed."""
    run = Run.objects.select_related("monitor").get(pk=chunk.run_id)
    calls = list(
        Call.objects.filter(lease_owner=chunk.owner, status=Call.Status.RUNNING).select_related("trace")
    )
    attempts = {
        attempt.call_id: attempt
        for attempt in Attempt.objects.filter(call__in=calls, finished_at__isnull=True).order_by("number")
    }
    known = {}
    if run.prior_run_id is not None:
        known = priors.load(run.prior_run_id, [call.trace_id for call in calls])
    works = []
    for call in calls:
        attempt = attempts[call.pk]
        messages = tuple(Message(one["role"], one["content"]) for one in attempt.messages)
        request = ChatRequest(
            model=run.settings["model"], messages=messages, max_tokens=run.settings["max_tokens"]
        )
        works.append(
            Work(
                call_id=call.pk,
                attempt_id=attempt.pk,
                number=attempt.number,
                run_id=run.pk,
                monitor_id=run.monitor_id,
                trace_id=call.trace_id,
                n_steps=call.trace.n_steps,
                generator=call.trace.generator,
                reserved=call.reserved,
                started_at=attempt.started_at,
                request=request,
                step=call.step,
                prior=known.get(call.trace_id),
            )
        )
    return works


def _request(work: Work) -> ChatRequest:
    """Return the request of a work under the key of its attempt: an earlier result can never settle a later one."""
    assert work.request is not None
    return dataclasses.replace(work.request, key=str(work.attempt_id))


def _wait(polls: int) -> float:
    """Return the seconds to the next look, which grow."""
    shortest, longest = limits().poll_first, limits().poll_last
    return min(longest, shortest * 1.5 ** min(polls, 20))
