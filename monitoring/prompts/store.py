"""Prompt files, `<condition>/<version>/{system,user}.txt`, checked when they are loaded."""

from __future__ import annotations

import functools
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
PLACEHOLDER = re.compile(r"\{\{(.*?)\}\}")

# The version that a new run uses. An old version stays as long as a run may need it again.
CURRENT = {"BLIND": "v1", "HINT": "v1", "CERT": "v1"}

_ALWAYS = frozenset({"problem", "solution", "n_steps", "error_definition"})
NEEDED = {
    "BLIND": _ALWAYS,
    "HINT": _ALWAYS | {"answer"},
    "CERT": _ALWAYS | {"answer"},
}


class PromptError(ValueError):
    """A prompt that cannot be loaded or filled as asked."""


@dataclass(frozen=True)
class Prompt:
    """The two texts of one condition in one version; `sha256` (hex) covers both."""

    condition: str
    version: str
    system: str
    user: str
    sha256: str


@functools.cache
def load(condition: str, version: str | None = None) -> Prompt:
    """Return a condition's prompt, in its current version unless another is named.

    Raises PromptError for an unknown condition or version, and for placeholders other than those that the
    condition grants: a BLIND prompt with an {{answer}} in it never loads.
    """
    if condition not in CURRENT:
        raise PromptError(
            f"there is no prompt for the condition {condition}; there are: {', '.join(CURRENT)}"
        )
    version = version or CURRENT[condition]
    folder = HERE / condition.lower() / version
    try:
        system = (folder / "system.txt").read_text(encoding="utf-8").strip()
        user = (folder / "user.txt").read_text(encoding="utf-8").strip()
    except OSError as error:
        raise PromptError(f"there is no version {version} of the prompt {condition}") from error
    check(condition, system=system, user=user)
    digest = hashlib.sha256(f"{system}\0{user}".encode()).hexdigest()
    return Prompt(condition=condition, version=version, system=system, user=user, sha256=digest)


def check(condition: str, *, system: str, user: str) -> None:
    """Raise PromptError unless the texts hold exactly the placeholders that the condition grants."""
    found = set(PLACEHOLDER.findall(user))
    if extra := set(PLACEHOLDER.findall(system)):
        raise PromptError(f"{condition}: the system prompt is constant, but holds {sorted(extra)}")
    if found != NEEDED[condition]:
        raise PromptError(
            f"{condition}: missing placeholders {sorted(NEEDED[condition] - found)}, "
            f"unknown ones {sorted(found - NEEDED[condition])}"
        )
