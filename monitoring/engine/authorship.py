"""Whether a monitor is of the family that wrote a trace (self-review)."""

from __future__ import annotations

import re

from monitoring.models import Monitor


def family(name: str) -> str:
    """Return the family in a model's name: "google/gemini-3.1-pro-preview" and "Gemini-3.1-Pro": gemini."""
    match = re.match(r"[a-z]+", name.rpartition("/")[2].lower())
    return match[0] if match else ""


def wrote(monitor: Monitor, generator: str) -> bool | None:
    """Whether the monitor's family wrote the trace; False for offline monitors, None where unknown."""
    if monitor.is_offline:
        return False
    mine, theirs = family(monitor.model), family(generator)
    return mine == theirs if mine and theirs else None
