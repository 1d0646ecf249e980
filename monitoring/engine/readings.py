"""What a result means for its call: a verdict, another try, or, under STEP, one step judged."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import datetime, timedelta

from llm.parsing import parse_verdict
from llm.retry import Retry, decide
from llm.types import ProviderError, Reply
from monitoring.engine.authorship import wrote
from monitoring.engine.claims import Work
from monitoring.engine.limits import limits
from monitoring.engine.steps import read_reply
from monitoring.models import Call, Run, Verdict

_rng = random.Random()  # noqa: S311 - spreads retries out, nothing secret

# Replies that say nothing, of which another may say something; a refusal is an answer.
WORTH_ANOTHER = frozenset({"invalid", "truncated", "no_response"})


@dataclass(frozen=True)
class Result:
    """How a request ended: with a reply, or with an error."""

    work: Work
    finished_at: datetime
    reply: Reply | None = None
    error: ProviderError | None = None


@dataclass(frozen=True)
class Again:
    """The call is to be made again, not before a time; with its new counts."""

    failures: int
    invalid_replies: int
    not_before: datetime | None


@dataclass(frozen=True)
class StepDone:
    """One step of a trace is judged, or given up: the trace's verdict comes of all of them."""


def read(result: Result, run: Run, call: Call) -> Verdict | Again | StepDone:
    """Return what follows from a result."""
    if result.error is not None:
        failures = call.failures + 1
        decision = decide(result.error, attempt=failures, max_attempts=_tries(result.error), rng=_rng)
        if isinstance(decision, Retry):
            later = result.finished_at + timedelta(seconds=decision.after_seconds)
            return Again(failures, call.invalid_replies, later)
        if call.step is not None:
            return StepDone()
        verdict = blank(result.work, run, call)
        verdict.outcome = Verdict.Outcome.PROVIDER_ERROR
        verdict.reason = printable(str(result.error))[:600]
        return verdict
    assert result.reply is not None
    may_ask_again = call.invalid_replies < run.settings.get("invalid_retries", 0)
    again = Again(call.failures, call.invalid_replies + 1, None)
    if call.step is not None:
        said = read_reply(result.reply.text, result.reply.finish_reason)
        return again if may_ask_again and said.outcome in WORTH_ANOTHER else StepDone()
    verdict = blank(result.work, run, call)
    tell(verdict, result.reply.text, result.reply.finish_reason, n_steps=result.work.n_steps)
    return again if may_ask_again and verdict.outcome in WORTH_ANOTHER else verdict


def blank(work: Work, run: Run, call: Call) -> Verdict:
    """Return a verdict of a call that says nothing yet."""
    return Verdict(
        run_id=work.run_id,
        trace_id=work.trace_id,
        attempt_id=work.attempt_id,
        certificate_source_id=call.certificate_source_id,
        self_review=wrote(run.monitor, work.generator),
        prior_has_error=work.prior.has_error if work.prior else None,
        prior_first_error_step=work.prior.first_error_step if work.prior else None,
    )


def tell(verdict: Verdict, text: str, finish_reason: str, *, n_steps: int | None) -> None:
    """Fill a verdict in with what a reply on a whole trace says."""
    parsed = parse_verdict(text, n_steps=n_steps, finish_reason=finish_reason)
    verdict.outcome = parsed.outcome
    verdict.has_error = None if parsed.has_error is None else bool(parsed.has_error)
    verdict.first_error_step = parsed.first_error_step
    verdict.error_confidence = parsed.error_confidence
    verdict.reason = printable(parsed.reason)
    verdict.parse_path = parsed.path[:60]
    verdict.raw = parsed.raw


def printable(text: str) -> str:
    """Return the text without what PostgreSQL cannot store: NUL, and halves of surrogate pairs."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def _tries(error: ProviderError) -> int:
    return limits().tries_when_limited if error.kind == "rate_limit" else limits().tries
