"""What a monitor is shown of a trace under a condition, and which traces cannot be shown to it and why."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from adjudication.models import ReferenceStandard, StandardLabel
from annotation.models import ReferenceAnswer, Trace
from llm.types import ChatRequest
from monitoring import offline
from monitoring.engine.certificates import SWAPPED
from monitoring.engine.priors import Prior
from monitoring.models import Condition, Monitor, Verdict
from monitoring.prompts import FOLLOW_UPS, render

ANSWERED = (Condition.HINT, Condition.CERT, Condition.REVISE)

NO_TEXT = "the trace has no text"
NO_ANSWER = "the question has no reference answer"
NO_STORED = "no stored verdict to replay"
NO_STEPS = "the number of its steps is not known"
NOT_BY_STEP = "the monitor does not judge single steps"


@dataclass(frozen=True)
class Needs:
    """What the cases of a run must hold."""

    prompt: bool
    text: bool
    answer: bool
    final_correct: bool
    stored: bool
    prior: bool = False
    certificate: bool = False
    each_step: bool = False
    by_step: bool = True


@dataclass(frozen=True)
class Shown:
    """What a single call is shown, or asked about, beyond its condition's share of the material.

    `step` under STEP, `certificate` under CMATCH and CCONFLICT, `prior` under REVISE and RCTRL; None elsewhere.
    """

    step: int | None = None
    certificate: str | None = None
    prior: Prior | None = None


@dataclass(frozen=True)
class Material:
    """One trace with what may be shown of it; a run takes from it what its condition grants."""

    trace: Trace
    answer: str | None
    final_correct: bool | None

    @property
    def key(self) -> str:
        """The trace's natural key: question id and response label."""
        return f"{self.trace.question.external_id}/{self.trace.response_label}"


@dataclass(frozen=True)
class Source:
    """Whose stored verdicts a replay monitor answers with."""

    monitor: str
    condition: str
    batch: int | None


def needs_of(provider: str, condition: str, options: dict[str, Any]) -> Needs:
    """Return what a monitor of this provider needs under a condition."""
    own = {
        "prior": condition in FOLLOW_UPS,
        "certificate": condition in SWAPPED,
        "each_step": condition == Condition.STEP,
    }
    if provider in READS_PROMPTS:
        answer = condition in ANSWERED
        return Needs(prompt=True, text=True, answer=answer, final_correct=False, stored=False, **own)
    baseline = offline.make(provider, options)
    return Needs(
        prompt=False,
        text=baseline.needs_text,
        answer=False,
        final_correct=baseline.needs_final_correct,
        stored=baseline.needs_stored,
        by_step=baseline.names_steps,
        **own,
    )


READS_PROMPTS = frozenset({*Monitor.ONLINE, Monitor.Provider.SCRIPTED})


def load(labels: Iterable[StandardLabel], *, answers: bool, before: datetime | None) -> list[Material]:
    """Return the materials of these labels of a standard, in their order.

    Of each question the latest version of the reference answer counts; `before` leaves out corrections made
    later, so that all calls of a batch see the same one.
    """
    labels = list(labels)
    traces = {label.trace_id: label.trace for label in labels if StandardLabel.trace.is_cached(label)}
    if len(traces) < len(labels):
        traces = Trace.objects.select_related("question").in_bulk([label.trace_id for label in labels])
    texts: dict[int, str] = {}
    if answers:
        rows = ReferenceAnswer.objects.filter(
            question_id__in={trace.question_id for trace in traces.values()}
        ).order_by("version")
        if before is not None:
            rows = rows.filter(created_at__lte=before)
        texts = {row.question_id: row.text for row in rows}
    return [
        Material(
            trace=traces[label.trace_id],
            answer=texts.get(traces[label.trace_id].question_id),
            final_correct=label.final_correct,
        )
        for label in labels
    ]


def labels_of(standard: ReferenceStandard, trace_ids: Iterable[int]) -> Iterable[StandardLabel]:
    """Return a standard's labels of these traces."""
    return StandardLabel.objects.filter(standard=standard, trace_id__in=list(trace_ids))


def source_of(options: dict[str, Any], condition: str) -> Source:
    """Return whose verdicts a replay monitor answers with, from its options."""
    return Source(
        monitor=str(options["monitor"]),
        condition=str(options.get("condition", condition)),
        batch=options.get("batch"),
    )


def stored_for(
    source: Source, *, study_id: int, trace_ids: Iterable[int], before: datetime | None
) -> dict[int, offline.Stored]:
    """Return the stored replies by trace; of several runs, the latest launched counts."""
    verdicts = (
        Verdict.objects.filter(
            run__batch__study_id=study_id,
            run__monitor__slug=source.monitor,
            run__condition=source.condition,
            trace_id__in=list(trace_ids),
        )
        .select_related("attempt")
        .order_by("run_id")
    )
    if source.batch is not None:
        verdicts = verdicts.filter(run__batch__number=source.batch)
    if before is not None:
        verdicts = verdicts.filter(created_at__lte=before)
    # The attempt of a STEP verdict is one of many: what they came to stands in its fields.
    whole = source.condition != Condition.STEP
    return {verdict.trace_id: _stored(verdict, with_reply=whole) for verdict in verdicts}


def _stored(verdict: Verdict, *, with_reply: bool) -> offline.Stored:
    if with_reply and verdict.attempt is not None and verdict.attempt.reply_removed_at is None:
        return offline.Stored(reply=verdict.attempt.reply, finish_reason=verdict.attempt.finish_reason)
    if verdict.has_error is None:
        return offline.Stored(reply="", finish_reason="stop")
    fields = {
        "has_error": int(verdict.has_error),
        "first_error_step": verdict.first_error_step,
        "error_confidence": verdict.error_confidence,
        "reason": verdict.reason,
    }
    return offline.Stored(reply=json.dumps(fields, ensure_ascii=False), finish_reason="stop")


def obstacle(material: Material, needs: Needs, *, stored: bool) -> str | None:
    """Return why a trace cannot be shown to a monitor with these needs, or None if it can."""
    if needs.text and not material.trace.steps:
        return NO_TEXT
    if needs.answer and not (material.answer or "").strip():
        return NO_ANSWER
    if needs.stored and not stored:
        return NO_STORED
    if needs.each_step and not needs.by_step:
        return NOT_BY_STEP
    if needs.each_step and material.trace.n_steps is None:
        return NO_STEPS
    return None


def request_for(
    material: Material,
    *,
    condition: str,
    version: str | None,
    settings: dict[str, Any],
    key: str,
    shown: Shown | None = None,
) -> ChatRequest:
    """Return the request that asks a model for its verdict, with the run's settings.

    Raises monitoring.prompts.PromptError if the prompt cannot be filled.
    """
    trace = material.trace
    shown = shown or Shown()
    answer = shown.certificate if condition in SWAPPED else material.answer
    messages = render(
        condition,
        question=trace.question.statement,
        preamble=trace.preamble,
        steps=trace.steps,
        reference_answer=answer if condition in ANSWERED or condition in SWAPPED else None,
        error_definition=settings["error_definition"],
        version=version,
        step=shown.step,
        exchange=shown.prior.exchange if shown.prior else None,
    )
    return ChatRequest(
        model=settings["model"],
        messages=messages,
        temperature=settings["temperature"],
        max_tokens=settings["max_tokens"],
        reasoning_effort=settings["reasoning_effort"] or None,
        seed=settings["seed"],
        json_mode=settings["json_mode"],
        timeout=settings["timeout"],
        key=key,
    )


def case_for(
    material: Material, needs: Needs, stored: offline.Stored | None, *, step: int | None = None
) -> offline.Case:
    """Return what an offline monitor may look at: nothing beyond its declared needs, and no text after `step`."""
    trace = material.trace
    return offline.Case(
        key=material.key,
        n_steps=trace.n_steps,
        step=step,
        steps=trace.steps[:step] if needs.text else (),
        final_correct=material.final_correct if needs.final_correct else None,
        stored=stored if needs.stored else None,
    )
