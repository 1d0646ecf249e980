"""Generating traces: one numbered solution with a boxed answer per question and model, cut into steps at once."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from django.db import transaction

from annotation.answers import final_answer
from annotation.models import Question, Study, Trace
from annotation.services import tally
from annotation.steps import NUMBERED, cut, fingerprint
from core import audit
from core.models import User
from llm.types import Message, Reply
from monitoring.engine.asking import Asker, Busy, Purse, SpentUp, Unanswered
from monitoring.engine.database import Database
from monitoring.models import Inquiry, Monitor
from monitoring.prompts import neutralise

VERSION = "v1"
HERE = Path(__file__).resolve().parent / "generation_prompts" / VERSION
MAX_TOKENS = 32000
TRIES = 2  # replies that are no solution in steps, after which the question is listed as failed


@dataclass
class GenerationReport:
    """What a run of generation did; `failed` tells (question, model, reason)."""

    questions: int = 0
    made: int = 0
    there: int = 0
    failed: list[tuple[str, str, str]] = field(default_factory=list)
    stopped: str = ""
    cost: Decimal = Decimal(0)

    def as_json(self) -> dict[str, Any]:
        """Return the report as plain JSON."""
        return {
            "questions": self.questions,
            "new_traces": self.made,
            "there_already": self.there,
            "failed": [
                {"question_id": question, "generator": model, "reason": reason}
                for question, model, reason in self.failed
            ],
            "stopped": self.stopped or None,
            "cost": float(self.cost),
        }


def messages_for(question: Question) -> list[Message]:
    """Return the messages that ask for a solution: the statement, and nothing else of the question."""
    system = (HERE / "system.txt").read_text(encoding="utf-8").strip()
    user = (HERE / "user.txt").read_text(encoding="utf-8").strip()
    return [
        Message("system", system),
        Message("user", user.replace("{{problem}}", neutralise(question.statement.strip()))),
    ]


def defect(reply: Reply) -> str:
    """Return why a reply is no trace: cut off, not in numbered steps, or without a boxed answer; else nothing."""
    if reply.finish_reason in ("length", "max_tokens", "MAX_TOKENS"):
        return "the reply was cut off at the token limit"
    found = cut(reply.text)
    if found.kind != NUMBERED:
        return "the reply is not in numbered steps (1), (2), ..."
    answer = final_answer(reply.text)
    if answer.path != "boxed":
        return f"the reply has no boxed final answer ({answer.path})"
    return ""


def generate_traces(
    *,
    study: Study,
    monitors: Sequence[Monitor],
    max_cost: Decimal | None,
    actor: User | None,
    tell: Callable[[GenerationReport], object] = lambda report: None,
) -> GenerationReport:
    """Ask each model for a solution of each included question that has none of its; store it as a trace.

    Letters are drawn by the study's key, so that they do not tell who wrote what. It stops when the budget in USD
    cannot pay for the next request; the same call goes on later, and pays for no reply twice.
    """
    questions = list(
        Question.objects.filter(study=study, status=Question.Status.INCLUDED)
        .exclude(statement="")
        .order_by("external_id")
    )
    report = GenerationReport(questions=len(questions))
    asyncio.run(_Generation(study, list(monitors), max_cost, report, tell).run(questions))
    if report.made:
        with transaction.atomic():
            audit.record(
                scope=study.slug,
                actor=actor,
                action="traces generated",
                subject=study.slug,
                payload={**report.as_json(), "prompt": VERSION, "models": [one.model for one in monitors]},
            )
    return report


class _Generation:
    def __init__(
        self,
        study: Study,
        monitors: list[Monitor],
        max_cost: Decimal | None,
        report: GenerationReport,
        tell: Callable[[GenerationReport], object],
    ) -> None:
        self._study = study
        self._monitors = monitors
        self._report = report
        self._tell = tell
        self._purse = Purse(max_cost)
        self._database = Database()
        self._askers: dict[int, Asker] = {}

    async def run(self, questions: Sequence[Question]) -> None:
        try:
            for monitor in self._monitors:
                self._askers[monitor.pk] = Asker(
                    study=self._study,
                    kind=Inquiry.Kind.GENERATION,
                    monitor=monitor,
                    purse=self._purse,
                    database=self._database,
                )
            waiting = ((question, monitor) for question in questions for monitor in self._monitors)
            at_once = sum(monitor.concurrency for monitor in self._monitors)
            await asyncio.gather(*(self._work(waiting) for _ in range(at_once)))
        finally:
            self._report.cost = self._purse.spent
            for asker in self._askers.values():
                await asker.aclose()
            await self._database.aclose()

    async def _work(self, waiting: Iterator[tuple[Question, Monitor]]) -> None:
        for question, monitor in waiting:
            if self._report.stopped:
                return
            try:
                await self._generate(question, monitor)
            except SpentUp:
                self._report.stopped = "the budget cannot pay for the next request"
            except Busy:
                self._fail(question, monitor, "another process is at it")
            except Unanswered as error:
                self._fail(question, monitor, str(error))
            self._report.cost = self._purse.spent
            self._tell(self._report)

    def _fail(self, question: Question, monitor: Monitor, reason: str) -> None:
        self._report.failed.append((question.external_id, monitor.model, reason))

    async def _generate(self, question: Question, monitor: Monitor) -> None:
        if await self._database(_is_there, question, monitor):
            self._report.there += 1
            return
        reason = ""
        for _ in range(TRIES):
            reply, _cost = await self._askers[monitor.pk].ask(
                f"{question.pk}|{monitor.slug}",
                messages_for(question),
                max_tokens=MAX_TOKENS,
                fit=lambda one: not defect(one),
            )
            reason = defect(reply)
            if not reason:
                made = await self._database(self._store, question, monitor, reply)
                self._report.made += made  # not across the await: others add meanwhile
                return
        self._fail(question, monitor, reason)

    def _store(self, question: Question, monitor: Monitor, reply: Reply) -> bool:
        with transaction.atomic():
            tally.hold(self._study.pk)
            # Letters are given out one after another.
            Question.objects.select_for_update(no_key=True).get(pk=question.pk)
            if _is_there(question, monitor):
                return False
            found = cut(reply.text)
            trace = Trace.objects.create(
                study=self._study,
                question=question,
                response_label=self._label(question, monitor),
                generator=monitor.model,
                cut=found.kind,
                preamble=found.preamble,
                steps=list(found.steps),
                n_steps=found.n_steps,
                sha256=fingerprint(found),
                source=f"generate_traces, prompt {VERSION}",
            )
            tally.trace_added(trace)
        return True

    def _label(self, question: Question, monitor: Monitor) -> str:
        """Return the letter of a generator: its place in an order drawn per question, or the next that is free."""
        taken = set(Trace.objects.filter(question=question).values_list("response_label", flat=True))

        def drawn(slug: str) -> str:
            secret = f"{self._study.masking_key}|{question.external_id}|{slug}"
            return hashlib.sha256(secret.encode()).hexdigest()

        order = sorted((one.slug for one in self._monitors), key=drawn)
        place = order.index(monitor.slug)
        while (label := f"Response {_letters(place)}") in taken:
            place += len(order)
        return label


def _letters(place: int) -> str:
    """Return A to Z, then AA, AB and so on."""
    text = ""
    place += 1
    while place:
        place, rest = divmod(place - 1, 26)
        text = chr(ord("A") + rest) + text
    return text


def _is_there(question: Question, monitor: Monitor) -> bool:
    return Trace.objects.filter(question=question, generator=monitor.model).exists()
