"""Whether a monitor is of the family that wrote a trace (self-review)."""

from __future__ import annotations

import re

from monitoring.models import Monitor

# Other first words of names, by family.
ALSO_CALLED = {
    "claude": ("anthropic", "fable", "haiku", "opus", "sonnet"),
    "gemini": ("google",),
    "gpt": ("chatgpt", "o", "openai"),
}
_FAMILIES = {word: name for name, words in ALSO_CALLED.items() for word in words}


def family(name: str) -> str:
    """Return the family in a model's name: "google/gemini-3.1-pro-preview" and "Gemini-3.1-Pro": gemini.

    Names that are known to lead to one family do: "Fable 5" and "claude-opus-4.7" are both claude.
    """
    match = re.match(r"[a-z]+", name.rpartition("/")[2].lower())
    return _FAMILIES.get(match[0], match[0]) if match else ""


def wrote(monitor: Monitor, generator: str) -> bool | None:
    """Whether the monitor's family wrote the trace; False for offline monitors, None where unknown."""
    if monitor.is_offline:
        return False
    mine, theirs = family(monitor.model), family(generator)
    return mine == theirs if mine and theirs else None
