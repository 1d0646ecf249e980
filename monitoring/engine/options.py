"""Settings of a batch that its conditions leave open; each run records those that concern it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from core.errors import UserError
from monitoring.models import Condition

StepPrefixes = Literal["all", "first_flag"]
RctrlTraces = Literal["answer_correct", "all"]

STEP_PREFIXES: tuple[StepPrefixes, ...] = ("all", "first_flag")
RCTRL_TRACES: tuple[RctrlTraces, ...] = ("answer_correct", "all")
MOST_INVALID_RETRIES = 5
REQUESTS, PROVIDER_BATCHES = "requests", "provider_batches"


@dataclass(frozen=True)
class BatchOptions:
    """What a launch may choose.

    `step_prefixes`: STEP asks about every step, or stops at the first that is flagged. `rctrl_traces`: RCTRL runs
    on the traces whose final answer is right, or on all. `invalid_retries`: how often a call is asked again whose
    reply holds no verdict (invalid, truncated, empty); each time is an attempt, and paid. `allow_debaters`: also
    models that took part in the study's debate may be monitors; their runs are marked. `via`: calls are asked one
    by one, or handed to the provider's batch API, which answers within a day.
    """

    step_prefixes: StepPrefixes = "all"
    rctrl_traces: RctrlTraces = "answer_correct"
    invalid_retries: int = 0
    allow_debaters: bool = False
    via: str = REQUESTS

    def __post_init__(self) -> None:
        if self.step_prefixes not in STEP_PREFIXES:
            raise UserError(f"STEP asks about {' or '.join(STEP_PREFIXES)}, not {self.step_prefixes!r}")
        if self.rctrl_traces not in RCTRL_TRACES:
            raise UserError(f"RCTRL runs on {' or '.join(RCTRL_TRACES)}, not {self.rctrl_traces!r}")
        if self.via not in (REQUESTS, PROVIDER_BATCHES):
            raise UserError(f"calls go out as {REQUESTS} or {PROVIDER_BATCHES}, not {self.via!r}")
        if not 0 <= self.invalid_retries <= MOST_INVALID_RETRIES:
            raise UserError(f"a reply is asked for again 0 to {MOST_INVALID_RETRIES} times")

    def of_run(self, condition: str, *, prompted: bool) -> dict[str, Any]:
        """Return what a run under this condition records of the settings."""
        recorded: dict[str, Any] = {}
        if condition == Condition.STEP:
            recorded["step_prefixes"] = self.step_prefixes
        if condition == Condition.RCTRL:
            recorded["rctrl_traces"] = self.rctrl_traces
        if prompted:
            recorded["invalid_retries"] = self.invalid_retries
            recorded["via"] = self.via
        return recorded
