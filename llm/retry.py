"""The one retry layer: after a failed attempt, wait so long and try again, or give up. It only decides."""

from __future__ import annotations

import random
from dataclasses import dataclass

from llm.types import ProviderError

FIRST_SECONDS = 1.0
LONGEST_SECONDS = 60.0
LONGEST_ASKED_SECONDS = 600.0


@dataclass(frozen=True)
class Retry:
    """Try again after so many seconds."""

    after_seconds: float


@dataclass(frozen=True)
class GiveUp:
    """Do not try again, and why."""

    reason: str


def decide(error: ProviderError, *, attempt: int, max_attempts: int, rng: random.Random) -> Retry | GiveUp:
    """Decide what follows the failure of attempt number `attempt` (from 1) of at most `max_attempts`.

    A permanent error ends the call. Otherwise the wait doubles from `FIRST_SECONDS` with every attempt up to
    `LONGEST_SECONDS`, drawn from its upper half so that callers spread out. What the provider asked for by
    Retry-After is waited at least, plus up to a tenth of it, and at most `LONGEST_ASKED_SECONDS`.
    """
    if attempt < 1 or max_attempts < 1:
        raise ValueError("attempts are counted from 1")
    if error.kind == "permanent":
        return GiveUp("the error is permanent")
    if attempt >= max_attempts:
        return GiveUp(f"all {max_attempts} attempts are used")
    backoff = min(LONGEST_SECONDS, FIRST_SECONDS * 2.0 ** min(attempt - 1, 30)) * rng.uniform(0.5, 1.0)
    asked = error.retry_after
    if asked is None or not asked >= 0:
        return Retry(backoff)
    asked = min(asked, LONGEST_ASKED_SECONDS)
    return Retry(max(backoff, min(asked * rng.uniform(1.0, 1.1), LONGEST_ASKED_SECONDS)))
