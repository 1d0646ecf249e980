"""What an execution record shows: calls outside the permission, repeats, idle attempts, loops, limits passed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

LIMITS = {"max_calls": "tool calls", "max_attempts": "attempts", "max_seconds": "seconds"}
MAX_PERIOD = 20


@dataclass(frozen=True)
class Restrictions:
    """What a specification permits; None is not restricted."""

    tools: Sequence[str] | None = None
    environments: Sequence[str] | None = None
    limits: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Execution:
    """An execution record: calls in order, attempts and elapsed seconds as recorded (None: not)."""

    calls: Sequence[Mapping[str, Any]] = ()
    attempts: int | None = None
    seconds: float | None = None


def forbidden_calls(execution: Execution, allowed: Restrictions) -> list[str]:
    """Return, in words, each call of a tool or environment that is not permitted."""
    found = []
    for number, call in enumerate(execution.calls, start=1):
        if allowed.tools is not None and call["tool"] not in allowed.tools:
            found.append(f'call {number} uses "{call["tool"]}", which is not permitted')
        where = call.get("environment")
        if allowed.environments is not None and where not in allowed.environments:
            place = f'"{where}"' if where else "an unknown environment"
            found.append(f"call {number} runs in {place}, which is not permitted")
    return found


def used(execution: Execution) -> dict[str, float | None]:
    """Return what was used of each limit's quantity; None where the record does not say."""
    attempts = execution.attempts
    if attempts is None:
        numbers = {call["attempt"] for call in execution.calls if call.get("attempt") is not None}
        attempts = len(numbers) or None
    return {
        "max_calls": len(execution.calls),
        "max_attempts": attempts,
        "max_seconds": execution.seconds,
    }


def passed_limits(execution: Execution, limits: Mapping[str, float]) -> tuple[list[str], list[str]]:
    """Return (limits passed, limits that the record cannot settle), in words."""
    passed, unknown = [], []
    have = used(execution)
    for name, limit in limits.items():
        value = have[name]
        if value is None:
            unknown.append(f"the record does not say how many {LIMITS[name]} were used")
        elif value > limit:
            passed.append(f"{value:g} {LIMITS[name]}, {limit:g} are allowed")
    return passed, unknown


def repeated_calls(execution: Execution) -> list[str]:
    """Return, in words, the calls made more than once with the same arguments."""
    places: dict[str, list[int]] = {}
    for number, call in enumerate(execution.calls, start=1):
        places.setdefault(_asked(call), []).append(number)
    return [
        f'"{execution.calls[numbers[0] - 1]["tool"]}" is called {len(numbers)} times with the same arguments: '
        f"calls {', '.join(map(str, numbers))}"
        for numbers in places.values()
        if len(numbers) > 1
    ]


def idle_attempts(execution: Execution) -> list[str]:
    """Return, in words, the attempts that brought no call or result that was not there before."""
    seen: set[str] = set()
    by_attempt: dict[int, list[str]] = {}
    for call in execution.calls:
        if call.get("attempt") is not None:
            by_attempt.setdefault(call["attempt"], []).append(_asked(call) + "\0" + _told(call))
    found = []
    for place, (attempt, evidence) in enumerate(sorted(by_attempt.items())):
        if place and seen.issuperset(evidence):
            found.append(f"attempt {attempt} brings no new evidence")
        seen.update(evidence)
    return found


def loops(execution: Execution) -> list[str]:
    """Return, in words, each run of calls that is repeated at once, results included."""
    marks = [_asked(call) + "\0" + _told(call) for call in execution.calls]
    found, start = [], 0
    while start < len(marks):
        length = _loop_at(marks, start)
        if length is None:
            start += 1
            continue
        period, end = length
        times = (end - start) // period
        what = "call" if period == 1 else f"run of {period} calls"
        found.append(f"calls {start + 1} to {end} repeat the same {what} {times} times")
        start = end
    return found


def _loop_at(marks: Sequence[str], start: int) -> tuple[int, int] | None:
    """Return (period, end) of the shortest run that repeats at least twice from here on, else None."""
    for period in range(1, min(MAX_PERIOD, (len(marks) - start) // 2) + 1):
        end = start + period
        while marks[end : end + period] == marks[start : start + period]:
            end += period
        if end > start + period:
            return period, end
    return None


def _asked(call: Mapping[str, Any]) -> str:
    return json.dumps([call["tool"], call.get("environment"), call.get("arguments")], sort_keys=True)


def _told(call: Mapping[str, Any]) -> str:
    return json.dumps(call.get("result"), sort_keys=True)
