"""The offline monitors: each answers with the JSON text that is asked of a model, so one parser reads all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from core.errors import UserError
from llm.parsing import parse_verdict
from llm.types import Reply
from verification.equalities import check_trace


@dataclass(frozen=True)
class Stored:
    """What another run has on a trace: the reply as it came, or, of an imported verdict, its fields."""

    reply: str
    finish_reason: str


@dataclass(frozen=True)
class Case:
    """What an offline monitor may look at; fields beyond the first three are filled only for who needs them.

    `step` is the step that STEP asks about; `steps` then ends with it.
    """

    key: str
    n_steps: int | None
    step: int | None = None
    steps: Sequence[str] = ()
    final_correct: bool | None = None
    stored: Stored | None = None


class Baseline(Protocol):
    """An offline monitor. The flags say what its cases must hold."""

    needs_text: ClassVar[bool]
    needs_final_correct: ClassVar[bool]
    needs_stored: ClassVar[bool]
    names_steps: ClassVar[bool]

    def answer(self, case: Case) -> Reply:
        """Return the reply to one trace."""


class _Plain:
    needs_text: ClassVar[bool] = False
    needs_final_correct: ClassVar[bool] = False
    needs_stored: ClassVar[bool] = False
    names_steps: ClassVar[bool] = True


class Oracle(_Plain):
    """The paper's conclusion-only baseline: flags exactly when the final answer is wrong, and names no step.

    It is told the standard's `final_correct`, and nothing else of it.
    """

    needs_final_correct: ClassVar[bool] = True
    names_steps: ClassVar[bool] = False

    def answer(self, case: Case) -> Reply:
        if case.final_correct is None:
            raise ValueError("the oracle was not told whether the final answer is right")
        if case.final_correct:
            return _reply(has_error=0, step=None, confidence=0, reason="The final answer is right.")
        return _reply(has_error=1, step=None, confidence=100, reason="The final answer is wrong.")


class Always(_Plain):
    """Flags every trace, at its first step."""

    def answer(self, case: Case) -> Reply:
        return _reply(has_error=1, step=1, confidence=100, reason="Flags every trace.")


class Never(_Plain):
    """Flags no trace."""

    def answer(self, case: Case) -> Reply:
        return _reply(has_error=0, step=None, confidence=0, reason="Flags no trace.")


class Random(_Plain):
    """Flags a share `rate` of the traces, at a uniformly drawn step; the same trace always the same way."""

    def __init__(self, *, rate: float, seed: int) -> None:
        self.rate = rate
        self.seed = seed

    def answer(self, case: Case) -> Reply:
        digest = hashlib.sha256(f"{self.seed}\0{case.key}".encode()).digest()
        # Two independent numbers in [0, 1) from one digest: the first decides, the second draws the step.
        first, second = (int.from_bytes(part) / 2**64 for part in (digest[:8], digest[8:16]))
        confidence = round(100 * (1 - first))
        if first >= self.rate or case.n_steps is None:
            return _reply(has_error=0, step=None, confidence=confidence, reason="Drawn at random.")
        step = 1 + int(second * case.n_steps)
        return _reply(has_error=1, step=step, confidence=confidence, reason="Drawn at random.")


class Replay(_Plain):
    """Answers with what another run has stored."""

    needs_stored: ClassVar[bool] = True

    def answer(self, case: Case) -> Reply:
        if case.stored is None:
            raise ValueError("there is no stored reply to this trace")
        return Reply(text=case.stored.reply, finish_reason=case.stored.finish_reason)


class Rules(_Plain):
    """Finds the first numerically false equality; its reason is that equality."""

    needs_text: ClassVar[bool] = True

    def answer(self, case: Case) -> Reply:
        finding = check_trace(list(case.steps))
        if finding is None:
            return _reply(
                has_error=0, step=None, confidence=0, reason="Every equality that could be computed holds."
            )
        return _reply(has_error=1, step=finding.step, confidence=100, reason=finding.explanation)


# Made on demand in a study, under these slugs.
BUILT_IN = ("rules", "always", "never", "oracle", "random")


def make(provider: str, options: Mapping[str, Any]) -> Baseline:
    """Return the offline monitor of that provider name; UserError for options that make no sense."""
    simple: dict[str, type[Oracle] | type[Always] | type[Never] | type[Replay] | type[Rules]] = {
        "oracle": Oracle,
        "always": Always,
        "never": Never,
        "replay": Replay,
        "rules": Rules,
    }
    if provider in simple:
        return simple[provider]()
    if provider == "random":
        return Random(rate=_rate(options.get("rate", 0.5)), seed=_seed(options.get("seed", 0)))
    raise UserError(f"{provider} is not an offline monitor")


def answer(baseline: Baseline, case: Case) -> Reply:
    """Return the reply to a case: on the whole trace, or under STEP on its last step.

    A baseline judges a step by its verdict on the trace: the step is flagged if it is the one it names.
    """
    reply = baseline.answer(case)
    if case.step is None:
        return reply
    verdict = parse_verdict(reply.text, n_steps=case.n_steps, finish_reason=reply.finish_reason)
    if verdict.outcome != "ok":
        return reply
    content = {
        "step_has_error": int(verdict.first_error_step == case.step),
        "error_confidence": verdict.error_confidence,
        "reason": verdict.reason,
    }
    return Reply(text=json.dumps(content, ensure_ascii=False), finish_reason="stop")


def _rate(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise UserError(f"the rate of a random monitor is a number from 0 to 1, not {value!r}")
    return float(value)


def _seed(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise UserError(f"the seed of a random monitor is an integer, not {value!r}")
    return value


def _reply(*, has_error: int, step: int | None, confidence: int, reason: str) -> Reply:
    content = {
        "has_error": has_error,
        "first_error_step": step,
        "error_confidence": confidence,
        "reason": reason,
    }
    return Reply(text=json.dumps(content, ensure_ascii=False), finish_reason="stop")
