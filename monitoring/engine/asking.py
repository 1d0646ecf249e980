"""Asking outside of batches, by the rules of the engine: written before it is paid, budgeted, retried, resumed."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotation.models import Study
from core.errors import UserError
from llm.retry import Retry, decide
from llm.types import ChatRequest, Message, ProviderError, Reply
from monitoring.engine import identity, money
from monitoring.engine.answering import Online, answerer_for
from monitoring.engine.database import Database
from monitoring.engine.limits import limits
from monitoring.engine.planning import online_settings
from monitoring.engine.readings import printable
from monitoring.models import Inquiry, Monitor

log = logging.getLogger(__name__)
_rng = random.Random()  # noqa: S311 - spreads retries out, nothing secret


class SpentUp(Exception):
    """The budget cannot pay for the next request."""


class Busy(Exception):
    """Another process is asking for the same."""


class Unanswered(Exception):
    """The provider gave no reply, however often it was asked; the message says why."""


@dataclass
class Purse:
    """What may be spent in USD, and what was; None: no limit. Held by one process, so it needs no lock."""

    most: Decimal | None
    spent: Decimal = Decimal(0)
    reserved: Decimal = Decimal(0)

    def reserve(self, amount: Decimal) -> None:
        """Set money aside, or raise SpentUp."""
        if self.most is not None and self.spent + self.reserved + amount > self.most:
            raise SpentUp
        self.reserved += amount

    def settle(self, amount: Decimal, *, spent: Decimal) -> None:
        """Take back what was set aside, and note what it came to."""
        self.reserved -= amount
        self.spent += spent


class Asker:
    """Asks one model for a study, each question once: a stored reply is taken again instead of paid again."""

    def __init__(
        self, *, study: Study, kind: Inquiry.Kind, monitor: Monitor, purse: Purse, database: Database
    ) -> None:
        if not monitor.has_price:
            raise UserError(f"no price is known for {monitor.slug}; tell its input and output price first")
        self.monitor = monitor
        self._study = study
        self._kind = kind
        self._purse = purse
        self._database = database
        self._settings = online_settings(monitor)
        answerer = answerer_for(self._settings)
        if not isinstance(answerer, Online):
            raise UserError(f"{monitor.slug} is not a model that can be asked")
        self._answerer = answerer
        self._lines = asyncio.Semaphore(monitor.concurrency)

    async def ask(
        self, key: str, messages: list[Message], *, max_tokens: int, fit: Callable[[Reply], bool]
    ) -> tuple[Reply, Decimal]:
        """Return the reply to a question and what the question has cost in all, in USD.

        A stored reply is returned if it is `fit`, else another is asked for. Raises SpentUp, Busy or Unanswered.
        """
        stored, cost = await self._database(self._stored, key, fit)
        if stored is not None:
            return stored, cost
        request = ChatRequest(
            model=self.monitor.model,
            messages=messages,
            temperature=self.monitor.temperature,
            max_tokens=max(max_tokens, self.monitor.max_tokens),
            reasoning_effort=self.monitor.reasoning_effort or None,
            seed=self.monitor.seed,
            json_mode=self.monitor.json_mode and self._kind != Inquiry.Kind.GENERATION,
            timeout=self._settings["timeout"],
            key=key,
        )
        bound = money.upper_bound(request, self._settings)
        failures = 0
        while True:
            async with self._lines:
                reply, error = await self._once(key, request, bound)
            if reply is not None:
                return reply, cost + money.actual(reply, request, self._settings)
            assert error is not None
            failures += 1
            most = limits().tries_when_limited if error.kind == "rate_limit" else limits().tries
            decision = decide(error, attempt=failures, max_attempts=most, rng=_rng)
            if not isinstance(decision, Retry):
                raise Unanswered(str(error))
            await asyncio.sleep(decision.after_seconds)

    async def aclose(self) -> None:
        """Close connections."""
        await self._answerer.aclose()

    async def _once(
        self, key: str, request: ChatRequest, bound: Decimal
    ) -> tuple[Reply | None, ProviderError | None]:
        self._purse.reserve(bound)
        reply, error, spent = None, None, Decimal(0)
        try:
            inquiry_id = await self._database(self._begin, key, request, bound)
            try:
                reply = await self._answerer.complete(request)
                spent = money.actual(reply, request, self._settings)
            except ProviderError as caught:
                error = caught
            await self._database(self._end, inquiry_id, reply, error, spent)
        finally:
            self._purse.settle(bound, spent=spent)
        return reply, error

    def _stored(self, key: str, fit: Callable[[Reply], bool]) -> tuple[Reply | None, Decimal]:
        rows = list(self._of(key).filter(finished_at__isnull=False).order_by("number"))
        cost = sum((row.cost for row in rows), Decimal(0))
        for row in reversed(rows):
            reply = Reply(text=row.reply, finish_reason=row.finish_reason, served_model=row.served_model)
            if row.reply_removed_at is not None:
                # Asking again would pay for it twice without anybody's having said so.
                raise Unanswered("its stored reply was removed by the study's retention rule")
            if not row.error_kind and fit(reply):
                return reply, cost
        return None, cost

    def _begin(self, key: str, request: ChatRequest, bound: Decimal) -> int:
        now = timezone.now()
        with transaction.atomic():
            # Whoever asks for the same takes turns here; the constraint would stop them too, less kindly.
            Study.objects.select_for_update(no_key=True).get(pk=self._study.pk)
            for left in self._of(key).filter(finished_at__isnull=True):
                old = (now - left.started_at).total_seconds() > self._settings["timeout"] + limits().lease
                if not old and not identity.is_gone(left.owner):
                    raise Busy
                Inquiry.objects.filter(pk=left.pk, finished_at__isnull=True).update(
                    finished_at=now,
                    error_kind="abandoned",
                    error="its process was lost before the reply came",
                    cost=left.reserved,
                )
            return Inquiry.objects.create(
                study=self._study,
                kind=self._kind,
                key=key,
                number=self._of(key).count() + 1,
                owner=identity.owner(),
                model=self.monitor.model,
                messages=[{"role": one.role, "content": one.content} for one in request.messages],
                reserved=bound,
                started_at=now,
            ).pk

    def _end(self, inquiry_id: int, reply: Reply | None, error: ProviderError | None, spent: Decimal) -> None:
        told: dict[str, Any] = {"finished_at": timezone.now(), "cost": spent}
        if reply is not None:
            told |= {
                "reply": printable(reply.text),
                "finish_reason": reply.finish_reason[:40],
                "served_model": reply.served_model[:200],
                "input_tokens": reply.input_tokens,
                "output_tokens": reply.output_tokens,
                "latency_ms": reply.latency_ms,
            }
        if error is not None:
            told |= {"error_kind": error.kind, "error": printable(str(error))[:4000]}
        Inquiry.objects.filter(pk=inquiry_id, finished_at__isnull=True).update(**told)

    def _of(self, key: str) -> Any:
        return Inquiry.objects.filter(study=self._study, kind=self._kind, key=key)
