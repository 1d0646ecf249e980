"""Running the debate: round by round on each trace, stored as it comes, so that it goes on where it stopped."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from annotation import hooks
from annotation.models import DebateRound, Label, Study, Trace
from annotation.queries import reference_answer
from core import audit
from core.errors import UserError
from core.models import User
from core.texts import error_definition
from llm.types import Reply
from monitoring.debate import prompts, replies
from monitoring.engine.asking import Asker, Busy, Purse, SpentUp, Unanswered
from monitoring.engine.database import Database
from monitoring.models import Inquiry, Monitor

ROUND = DebateRound.Name
LABELLER = "debate"
READINGS = 3  # replies to a round of which none can be read, after which it is given up for now
MAX_TOKENS = {ROUND.R1: 6000, ROUND.R2: 12000, ROUND.BLIND: 12000, ROUND.R3: 8000, ROUND.CONSENSUS: 8000}


@dataclass(frozen=True)
class Debaters:
    """Who speaks: `first` in R1 and R3, `second` in R2 and the blind round, `judge` in the consensus."""

    first: Monitor
    second: Monitor
    judge: Monitor


@dataclass
class DebateReport:
    """What a run of the debate did."""

    traces: int = 0
    rounds: Counter[str] = field(default_factory=Counter)
    labels: int = 0
    to_people: int = 0
    failed: list[tuple[str, str]] = field(default_factory=list)
    stopped: str = ""
    cost: Decimal = Decimal(0)

    def as_json(self) -> dict[str, Any]:
        """Return the report as plain JSON."""
        return {
            "traces": self.traces,
            "rounds": dict(sorted(self.rounds.items())),
            "labels": self.labels,
            "left_to_people": self.to_people,
            "failed": [{"trace": trace, "reason": reason} for trace, reason in self.failed],
            "stopped": self.stopped or None,
            "cost": float(self.cost),
        }


@dataclass(frozen=True)
class _Case:
    trace: Trace
    answer: str
    held: dict[str, DebateRound]

    @property
    def name(self) -> str:
        return f"{self.trace.question.external_id}/{self.trace.response_label}"


def debatable(study: Study) -> QuerySet[Trace]:
    """Return the traces of included questions that have a text; hidden check items are nobody's to debate."""
    found = Trace.objects.filter(study=study, question__status="included", n_steps__isnull=False)
    return found.exclude(steps=[]).filter(check_item__isnull=True)


def traces_to_debate(study: Study, keys: Sequence[str] | None) -> list[Trace]:
    """Return the traces of included questions that have a text and no consensus; of `keys` (QID/LABEL) if given."""
    found = debatable(study).select_related("question")
    traces = list(found.order_by("question__external_id", "response_label"))
    if keys is not None:
        by_name = {f"{trace.question.external_id}/{trace.response_label}": trace for trace in traces}
        unknown = [key for key in keys if key not in by_name]
        if unknown:
            raise UserError(f"no such trace in {study.slug}: {', '.join(unknown[:5])}; write QUESTION/LABEL")
        traces = [by_name[key] for key in keys]
    done = set(
        DebateRound.objects.filter(name=ROUND.CONSENSUS, trace__study=study).values_list("trace", flat=True)
    )
    return [trace for trace in traces if trace.pk not in done]


def run_debate(
    *,
    study: Study,
    debaters: Debaters,
    traces: Sequence[Trace],
    max_cost: Decimal | None,
    actor: User | None,
    tell: Callable[[DebateReport], object] = lambda report: None,
) -> DebateReport:
    """Debate these traces, and store each round and each consensus as the arm's label.

    What was stored before is not asked again. It stops when the budget in USD cannot pay for the next request; the
    same call goes on later. Raises UserError for a model that cannot be asked.
    """
    report = DebateReport(traces=len(traces))
    asyncio.run(_Arm(study, debaters, max_cost, report, tell, actor).run(traces))
    with transaction.atomic():
        if report.rounds:
            audit.record(
                scope=study.slug,
                actor=actor,
                action="debate run",
                subject=study.slug,
                payload={
                    **report.as_json(),
                    "models": [debaters.first.model, debaters.second.model, debaters.judge.model],
                    "prompts": prompts.sha256(),
                },
            )
    return report


class _Arm:
    def __init__(
        self,
        study: Study,
        debaters: Debaters,
        max_cost: Decimal | None,
        report: DebateReport,
        tell: Callable[[DebateReport], object],
        actor: User | None,
    ) -> None:
        self._study = study
        self._actor = actor
        self._report = report
        self._tell = tell
        self._purse = Purse(max_cost)
        self._database = Database()
        self._debaters = debaters
        self._askers: dict[int, Asker] = {}

    async def run(self, traces: Sequence[Trace]) -> None:
        try:
            for monitor in (self._debaters.first, self._debaters.second, self._debaters.judge):
                if monitor.pk not in self._askers:
                    self._askers[monitor.pk] = Asker(
                        study=self._study,
                        kind=Inquiry.Kind.DEBATE,
                        monitor=monitor,
                        purse=self._purse,
                        database=self._database,
                    )
            waiting = iter(traces)
            at_once = sum(asker.monitor.concurrency for asker in self._askers.values())
            await asyncio.gather(*(self._work(waiting) for _ in range(min(at_once, len(traces)))))
        finally:
            self._report.cost = self._purse.spent
            for asker in self._askers.values():
                await asker.aclose()
            await self._database.aclose()

    async def _work(self, waiting: Any) -> None:
        for trace in waiting:
            if self._report.stopped:
                return
            case = await self._database(_case_of, trace)
            try:
                await self._debate(case)
            except SpentUp:
                self._report.stopped = "the budget cannot pay for the next request"
            except Busy:
                self._report.failed.append((case.name, "another process is at it"))
            except Unanswered as error:
                self._report.failed.append((case.name, str(error)))
            self._report.cost = self._purse.spent
            self._tell(self._report)

    async def _debate(self, case: _Case) -> None:
        who = self._debaters
        blind = asyncio.create_task(self._round(case, ROUND.BLIND, who.second, {}))
        try:
            r1 = await self._round(case, ROUND.R1, who.first, {})
            r2 = await self._round(case, ROUND.R2, who.second, {"R1": r1})
            r3 = None
            if disputed(r1, r2):
                r3 = await self._round(case, ROUND.R3, who.first, {"R1": r1, "R2": r2})
        except BaseException:
            # What is paid for already is stored, whatever becomes of the other.
            await asyncio.gather(blind, return_exceptions=True)
            raise
        earlier = {"R1": r1, "R2": r2, "R3": r3, "blind": await blind}
        said = await self._round(case, ROUND.CONSENSUS, who.judge, earlier)
        if said.get("skipped") or said.get("needs_human"):
            self._report.to_people += 1

    async def _round(
        self, case: _Case, name: DebateRound.Name, monitor: Monitor, earlier: dict[str, Any]
    ) -> dict[str, Any]:
        held = case.held.get(name)
        if held is not None:
            return dict(held.said)
        n_steps = case.trace.n_steps or 0

        def fit(reply: Reply) -> bool:
            return replies.read(reply, n_steps=n_steps) is not None

        messages = prompts.render(
            name.value,
            question=case.trace.question.statement,
            answer=case.answer,
            rationale=case.trace.question.rationale,
            preamble=case.trace.preamble,
            steps=case.trace.steps,
            error_definition=error_definition(),
            earlier=earlier,
        )
        asker = self._askers[monitor.pk]
        for _ in range(READINGS):
            reply, cost = await asker.ask(
                f"{case.trace.pk}|{name.value}", messages, max_tokens=MAX_TOKENS[name], fit=fit
            )
            said = replies.read(reply, n_steps=n_steps)
            if said is not None:
                await self._database(self._store, case, name, monitor, earlier, said, cost)
                return said
        raise Unanswered(f"{name.value}: no reply of {READINGS} could be read")

    def _store(
        self,
        case: _Case,
        name: DebateRound.Name,
        monitor: Monitor,
        earlier: dict[str, Any],
        said: dict[str, Any],
        cost: Decimal,
    ) -> None:
        with transaction.atomic():
            _, made = DebateRound.objects.get_or_create(
                trace=case.trace,
                name=name,
                defaults={
                    "model": monitor.model,
                    "given": earlier,
                    "said": said,
                    "cost": cost.quantize(Decimal("0.000001")),
                    "source": f"run_debate, prompts {prompts.VERSION}",
                },
            )
            labelled = made and name == ROUND.CONSENSUS and _label(case.trace, said)
            if labelled:
                hooks.labels_changed(study=self._study, question=case.trace.question, actor=self._actor)
        self._report.rounds[name.value] += made
        self._report.labels += bool(labelled)


def disputed(r1: dict[str, Any], r2: dict[str, Any]) -> bool:
    """Whether the second reader contradicts the first; null and a step are different."""
    return (
        r2.get("agree_with_prior") == 0
        or r1.get("is_correct") != r2.get("is_correct")
        or r1.get("error_step") != r2.get("error_step")
    )


def _case_of(trace: Trace) -> _Case:
    held = {one.name: one for one in DebateRound.objects.filter(trace=trace)}
    answer = reference_answer(trace.question)
    return _Case(trace=trace, answer=answer.text if answer else "", held=held)


def _label(trace: Trace, said: dict[str, Any]) -> bool:
    """Store a consensus that settles the trace as the arm's label; return whether there is a new one."""
    if said.get("skipped") or said.get("needs_human"):
        return False
    comment = str(said.get("final_rationale") or "")
    if said.get("reference_dispute"):
        reason = said.get("reference_dispute_reason") or "no reason given"
        comment = f"{comment}\nKey looks wrong: {reason}".strip()
    _, made = Label.objects.get_or_create(
        trace=trace,
        arm=Label.Arm.DEBATE,
        labeller=LABELLER,
        revision=1,
        defaults={
            "final_correct": bool(said["is_correct"]),
            "first_error_step": said.get("error_step"),
            "comment": comment,
            "source": "run_debate",
        },
    )
    return made
