"""The run viewer: what each trace of a run was asked, what came back, how it was read, and, later, the standard."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from adjudication.models import StandardLabel
from annotation import blindness
from annotation.models import Study, Trace
from core import audit
from core.errors import UserError
from core.models import User
from monitoring.engine.reparsing import replies_of
from monitoring.models import Attempt, Batch, Run, Verdict

PAGE = 50
CHUNK = 200
OVER = (Batch.Status.FINISHED, Batch.Status.CANCELLED)

BESIDE = {
    "exact": "named the standard's step",
    "elsewhere": "flagged, but another step",
    "missed": "passed what the standard calls an error",
    "false_alarm": "flagged what the standard calls clean",
    "agreed_clean": "passed what the standard calls clean",
}


class StillBlind(UserError):
    """The person must judge first; `reasons` say what."""

    def __init__(self, reasons: list[str]) -> None:
        super().__init__(" ".join(reasons))
        self.reasons = reasons


@dataclass(frozen=True)
class Sight:
    """What a person may see of a run: `reasons` say why the standard is not among it; no reason, it is."""

    reasons: tuple[str, ...]

    @property
    def standard(self) -> bool:
        """Whether the standard, the generators and the stored response labels are shown."""
        return not self.reasons


def sight_of(run: Run, person: User) -> Sight:
    """Return what a person may see: nothing of the standard before the batch is over, or while they must judge."""
    reasons = blindness.why_not_all_labels(run.batch.study, person)
    if run.batch.status not in OVER:
        reasons.append("The standard is shown when the batch is over.")
    return Sight(tuple(reasons))


@dataclass(frozen=True)
class Filters:
    """What to look for; empty: everything. `beside` compares with the standard."""

    outcome: str = ""
    flag: str = ""
    beside: str = ""
    text: str = ""

    @classmethod
    def of(cls, query: Any, *, sight: Sight) -> Filters:
        """Read the filters of an address; what is not understood, or not to be seen, filters nothing."""
        outcome, flag, beside = (query.get(name, "") for name in ("outcome", "flag", "beside"))
        return cls(
            outcome=outcome if outcome in Verdict.Outcome.values else "",
            flag=flag if flag in ("yes", "no") else "",
            beside=beside if beside in BESIDE and sight.standard else "",
            text=query.get("q", "").strip()[:200],
        )


@dataclass(frozen=True)
class Row:
    """A trace of a run: its verdict, and the standard's label where it may be seen."""

    verdict: Verdict
    name: str
    label: StandardLabel | None
    beside: str


def verdicts_of(run: Run, person: User, filters: Filters) -> QuerySet[Verdict]:
    """Return the verdicts of a run that a person may see and looks for, by question and response."""
    found = visible(run, person).select_related("trace__question", "attempt")
    if filters.outcome:
        found = found.filter(outcome=filters.outcome)
    if filters.flag:
        found = found.filter(has_error=filters.flag == "yes")
    if filters.beside:
        found = found.filter(_beside(run, filters.beside))
    if filters.text:
        in_reply = Attempt.objects.filter(
            call__run=replies_of(run), call__trace=OuterRef("trace"), reply__icontains=filters.text
        )
        found = found.filter(
            Q(trace__question__external_id__icontains=filters.text)
            | Q(reason__icontains=filters.text)
            | Exists(in_reply)
        )
    return found.order_by("trace__question__external_id", "trace__token")


def visible(run: Run, person: User) -> QuerySet[Verdict]:
    """Return the verdicts of a run on traces that are not hidden from a person."""
    hidden = blindness.hidden_traces(run.batch.study, person)
    # The study is named although the run implies it: only so can questions be walked in order, a page at a time.
    here = Verdict.objects.filter(run=run, trace__question__study=run.batch.study_id)
    return here.exclude(trace__in=hidden.values("pk"))


def _beside(run: Run, kind: str) -> Q:
    labels = StandardLabel.objects.filter(
        standard=run.batch.standard_id, status=StandardLabel.Status.READY, trace=OuterRef("trace")
    )
    clean = Exists(labels.filter(first_error_step__isnull=True))
    wrong = Exists(labels.filter(first_error_step__isnull=False))
    exact = Exists(labels.filter(first_error_step=OuterRef("first_error_step")))
    return {
        "exact": Q(exact, has_error=True),
        "elsewhere": Q(wrong, ~Q(exact), has_error=True),
        "missed": Q(wrong, has_error=False),
        "false_alarm": Q(clean, has_error=True),
        "agreed_clean": Q(clean, has_error=False),
    }[kind]


def rows_of(run: Run, verdicts: list[Verdict], sight: Sight) -> list[Row]:
    """Return the rows of a page."""
    labels: dict[int, StandardLabel] = {}
    if sight.standard:
        found = StandardLabel.objects.filter(
            standard=run.batch.standard_id, trace__in=[verdict.trace_id for verdict in verdicts]
        )
        labels = {label.trace_id: label for label in found}
    return [
        Row(
            verdict=verdict,
            name=name_of(verdict.trace, sight),
            label=labels.get(verdict.trace_id),
            beside=_beside_of(verdict, labels.get(verdict.trace_id)),
        )
        for verdict in verdicts
    ]


def name_of(trace: Trace, sight: Sight) -> str:
    """Return what a trace is called: stored response labels may give the generator away, so not to everybody."""
    question = trace.question.external_id
    return f"{question}, {trace.response_label}" if sight.standard else f"{question}, {trace.token[:6]}"


def _beside_of(verdict: Verdict, label: StandardLabel | None) -> str:
    if label is None or label.status != StandardLabel.Status.READY or verdict.has_error is None:
        return ""
    if label.first_error_step is None:
        return "false_alarm" if verdict.has_error else "agreed_clean"
    if not verdict.has_error:
        return "missed"
    return "exact" if verdict.first_error_step == label.first_error_step else "elsewhere"


def attempts_of(run: Run, trace: Trace) -> list[Attempt]:
    """Return every attempt of a run on a trace, by step and number."""
    attempts = Attempt.objects.filter(call__run=replies_of(run), call__trace=trace).select_related("call")
    return list(attempts.order_by(F("call__step").asc(nulls_first=True), "number"))


def download_run(*, run: Run, actor: User) -> Iterator[bytes]:
    """Yield a run as JSON Lines, one trace a line: verdict, standard, attempts with messages and replies.

    Raises StillBlind while the person must judge, or before the batch is over. The audit trail records it.
    """
    told = told_run(run=run, actor=actor, action="run downloaded")
    return (
        json.dumps(_line(run, row, attempts), ensure_ascii=False).encode() + b"\n" for row, attempts in told
    )


def told_run(*, run: Run, actor: User, action: str) -> Iterator[tuple[Row, list[Attempt]]]:
    """Return the rows of a run with their attempts, in pieces, to somebody who takes them away.

    Raises StillBlind while the person must judge, or before the batch is over. The audit trail records the action.
    """
    sight = sight_of(run, actor)
    if not sight.standard:
        raise StillBlind(list(sight.reasons))
    study: Study = run.batch.study
    with transaction.atomic():
        audit.record(
            scope=study.slug,
            actor=actor,
            action=action,
            subject=f"batch {run.batch.number}",
            payload={"monitor": run.monitor.slug, "condition": run.condition},
        )
    return _told(run, sight)


def _told(run: Run, sight: Sight) -> Iterator[tuple[Row, list[Attempt]]]:
    verdicts = Verdict.objects.filter(run=run).order_by("pk")
    last = 0
    while chunk := list(verdicts.filter(pk__gt=last).select_related("trace__question")[:CHUNK]):
        last = chunk[-1].pk
        attempts: dict[int, list[Attempt]] = {}
        found = Attempt.objects.filter(
            call__run=replies_of(run), call__trace__in=[one.trace_id for one in chunk]
        )
        for attempt in found.select_related("call").order_by("call__step", "number"):
            attempts.setdefault(attempt.call.trace_id, []).append(attempt)
        for row in rows_of(run, chunk, sight):
            yield row, attempts.get(row.verdict.trace_id, [])


def _line(run: Run, row: Row, attempts: list[Attempt]) -> dict[str, Any]:
    verdict, label = row.verdict, row.label
    return {
        "canary": run.batch.study.canary,
        "question_id": verdict.trace.question.external_id,
        "response_label": verdict.trace.response_label,
        "monitor": run.monitor.slug,
        "condition": run.condition,
        "outcome": verdict.outcome,
        "has_error": verdict.has_error,
        "first_error_step": verdict.first_error_step,
        "error_confidence": verdict.error_confidence,
        "reason": verdict.reason,
        "parse_path": verdict.parse_path,
        "raw": verdict.raw,
        "prior_has_error": verdict.prior_has_error,
        "prior_first_error_step": verdict.prior_first_error_step,
        "self_review": verdict.self_review,
        "standard": None
        if label is None
        else {
            "version": run.batch.standard.version,
            "status": label.status,
            "final_correct": label.final_correct,
            "first_error_step": label.first_error_step,
        },
        "attempts": [attempt_as_json(attempt) for attempt in attempts],
    }


def attempt_as_json(attempt: Attempt) -> dict[str, Any]:
    """Return a request and what came back."""
    return {
        "step": attempt.call.step,
        "number": attempt.number,
        "messages": attempt.messages,
        "reply": attempt.reply,
        "reply_sha256": attempt.reply_sha256,
        "reply_removed_at": attempt.reply_removed_at.isoformat() if attempt.reply_removed_at else None,
        "finish_reason": attempt.finish_reason,
        "served_model": attempt.served_model,
        "input_tokens": attempt.input_tokens,
        "output_tokens": attempt.output_tokens,
        "cost": float(attempt.cost),
        "latency_ms": attempt.latency_ms,
        "error_kind": attempt.error_kind,
        "error": attempt.error,
    }
