"""Asking models for concerns about traces: one request per trace and model, flags stored as they come."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.db import transaction

from annotation.models import DebateRound, Question, Study, Trace
from core import audit
from core.errors import UserError
from core.models import User
from llm.types import Message, Reply
from monitoring.concerns import prompts, replies
from monitoring.concerns.prompts import Material
from monitoring.engine.asking import Asker, Busy, Purse, SpentUp, Unanswered
from monitoring.engine.database import Database
from monitoring.engine.readings import printable
from monitoring.models import Inquiry, Monitor
from verification.models import ExecutionRecord
from verification.queries import specification_of
from verification.services.evidence import record_flags

READINGS = 2  # replies of which none can be read, after which a trace is listed as failed
MAX_TOKENS = 6000


@dataclass
class ConcernsReport:
    """What a run did; `failed` and `dropped` tell (trace, model, reason)."""

    traces: int = 0
    read: int = 0
    flags: int = 0
    dropped: list[tuple[str, str, str]] = field(default_factory=list)
    failed: list[tuple[str, str, str]] = field(default_factory=list)
    stopped: str = ""
    cost: Decimal = Decimal(0)

    def as_json(self) -> dict[str, Any]:
        """Return the report as plain JSON."""

        def rows(found: list[tuple[str, str, str]]) -> list[dict[str, str]]:
            return [{"trace": trace, "monitor": slug, "reason": reason} for trace, slug, reason in found]

        return {
            "traces": self.traces,
            "read": self.read,
            "new_flags": self.flags,
            "dropped": rows(self.dropped),
            "failed": rows(self.failed),
            "stopped": self.stopped or None,
            "cost": float(self.cost),
        }


def refuse_unfit(study: Study, monitors: Sequence[Monitor]) -> None:
    """Raise UserError for a model that cannot be asked, has no price, or spoke in the study's debate.

    A debater's flags stand on the expert's page: they would tell which proposal is the debate's.
    """
    spoke = DebateRound.objects.filter(trace__study=study).order_by().values_list("model", flat=True)
    debaters = {model.lower() for model in spoke.distinct() if model}
    for monitor in monitors:
        if monitor.is_offline and monitor.provider != Monitor.Provider.SCRIPTED:
            raise UserError(f"{monitor.slug} is not a model that can be asked")
        if not monitor.has_price:
            raise UserError(f"no price is known for {monitor.slug}; tell its input and output price first")
        if monitor.model.lower() in debaters:
            raise UserError(
                f"{monitor.slug} took part in the debate of this study: its flags would tell an expert which "
                "proposal is the debate's"
            )


def traces_to_read(study: Study, keys: Sequence[str] | None = None) -> list[Trace]:
    """Return the traces of included questions that have a text; of `keys` (QID/LABEL) if given."""
    found = (
        Trace.objects.filter(study=study, question__status=Question.Status.INCLUDED, n_steps__isnull=False)
        .exclude(steps=[])
        .filter(check_item__isnull=True)
        .select_related("question")
        .order_by("question__external_id", "response_label")
    )
    if keys is None:
        return list(found)
    by_name = {_name(trace): trace for trace in found}
    unknown = [key for key in keys if key not in by_name]
    if unknown:
        raise UserError(f"no such trace in {study.slug}: {', '.join(unknown[:5])}; write QUESTION/LABEL")
    return [by_name[key] for key in keys]


def material_of(trace: Trace) -> Material:
    """Return what a model reads of a trace: no label, no reference answer, not who wrote it."""
    specification = specification_of(trace.question)
    record = ExecutionRecord.objects.filter(trace=trace).first()
    return Material(
        problem=trace.question.statement,
        steps=trace.steps,
        text=trace.text,
        preamble=trace.preamble,
        assumptions=specification.assumptions if specification else (),
        target=specification.target if specification else "",
        obligations=[one["text"] for one in specification.obligations] if specification else (),
        calls=record.calls if record else (),
    )


def key_of(trace: Trace, monitor: Monitor, messages: Sequence[Message]) -> str:
    """Return the key of a request: another content of the prompt, as after an import, is another request."""
    content = json.dumps([[one.role, one.content] for one in messages])
    return f"{trace.pk}|{monitor.slug}|{hashlib.sha256(content.encode()).hexdigest()[:16]}"


def raise_concerns(
    *,
    study: Study,
    monitors: Sequence[Monitor],
    traces: Sequence[Trace],
    max_cost: Decimal | None,
    actor: User | None,
    tell: Callable[[ConcernsReport], object] = lambda report: None,
) -> ConcernsReport:
    """Ask each model about each trace and record what it points at as flags.

    A stored reply is not paid for again, and a flag is raised once. It stops when the budget in USD cannot pay for
    the next request; the same call goes on later. Raises UserError for a model that is not fit.
    """
    refuse_unfit(study, monitors)
    report = ConcernsReport(traces=len(traces))
    asyncio.run(_Reading(study, monitors, max_cost, actor, report, tell).run(traces))
    if report.read or report.failed:
        with transaction.atomic():
            audit.record(
                scope=study.slug,
                actor=actor,
                action="concerns asked for",
                subject=study.slug,
                payload={
                    **report.as_json(),
                    "models": [one.model for one in monitors],
                    "prompt": prompts.VERSION,
                    "prompt_sha256": prompts.sha256(),
                },
            )
    return report


class _Reading:
    def __init__(
        self,
        study: Study,
        monitors: Sequence[Monitor],
        max_cost: Decimal | None,
        actor: User | None,
        report: ConcernsReport,
        tell: Callable[[ConcernsReport], object],
    ) -> None:
        self._study = study
        self._monitors = monitors
        self._actor = actor
        self._report = report
        self._tell = tell
        self._purse = Purse(max_cost)
        self._database = Database()
        self._askers: dict[int, Asker] = {}

    async def run(self, traces: Sequence[Trace]) -> None:
        try:
            for monitor in self._monitors:
                self._askers[monitor.pk] = Asker(
                    study=self._study,
                    kind=Inquiry.Kind.CONCERNS,
                    monitor=monitor,
                    purse=self._purse,
                    database=self._database,
                )
            waiting = ((trace, monitor) for trace in traces for monitor in self._monitors)
            at_once = sum(monitor.concurrency for monitor in self._monitors)
            most = len(traces) * len(self._monitors)
            await asyncio.gather(*(self._work(waiting) for _ in range(min(at_once, most))))
        finally:
            self._report.cost = self._purse.spent
            for asker in self._askers.values():
                await asker.aclose()
            await self._database.aclose()

    async def _work(self, waiting: Any) -> None:
        for trace, monitor in waiting:
            if self._report.stopped:
                return
            try:
                await self._read(trace, monitor)
            except SpentUp:
                self._report.stopped = "the budget cannot pay for the next request"
            except Busy:
                self._report.failed.append((_name(trace), monitor.slug, "another process is at it"))
            except Unanswered as error:
                self._report.failed.append((_name(trace), monitor.slug, str(error)))
            self._report.cost = self._purse.spent
            self._tell(self._report)

    async def _read(self, trace: Trace, monitor: Monitor) -> None:
        material = await self._database(material_of, trace)
        messages = prompts.render(material)

        def reading_of(reply: Reply) -> replies.Reading | None:
            return replies.read(reply, material=material)

        for _ in range(READINGS):
            reply, _cost = await self._askers[monitor.pk].ask(
                key_of(trace, monitor, messages),
                messages,
                max_tokens=MAX_TOKENS,
                fit=lambda one: reading_of(one) is not None,
            )
            found = reading_of(reply)
            if found is not None:
                new = await self._database(self._store, trace, monitor, found)
                self._report.read += 1
                self._report.flags += new
                self._report.dropped += [(_name(trace), monitor.slug, reason) for reason in found.dropped]
                return
        reason = f"no reply of {READINGS} could be read"
        self._report.failed.append((_name(trace), monitor.slug, reason))

    def _store(self, trace: Trace, monitor: Monitor, found: replies.Reading) -> int:
        trace.study = self._study
        flags = [{**flag, "concern": printable(flag["concern"])} for flag in found.flags]
        raised_by = f"{monitor.model[:80]}/{prompts.VERSION}"
        return len(record_flags(trace=trace, flags=flags, raised_by=raised_by, actor=self._actor))


def _name(trace: Trace) -> str:
    return f"{trace.question.external_id}/{trace.response_label}"
