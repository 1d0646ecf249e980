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
CURRENT = {"BLIND": "v1", "HINT": "v1", "CERT": "v1", "REVISE": "v1", "RCTRL": "v1", "STEP": "v1"}
# These differ from CERT in the answer that stands there, and in nothing else.
SAME_AS = {"CMATCH": "CERT", "CCONFLICT": "CERT"}
# These have a last turn only: what goes before it is the monitor's own exchange under BLIND.
FOLLOW_UPS = frozenset({"REVISE", "RCTRL"})
CONDITIONS = (*CURRENT, *SAME_AS)

_ALWAYS = frozenset({"problem", "solution", "n_steps", "error_definition"})
NEEDED = {
    "BLIND": _ALWAYS,
    "HINT": _ALWAYS | {"answer"},
    "CERT": _ALWAYS | {"answer"},
    "REVISE": frozenset({"answer", "n_steps"}),
    "RCTRL": frozenset({"n_steps"}),
    # The number of steps is withheld with the steps themselves.
    "STEP": frozenset({"problem", "solution", "step", "error_definition"}),
}


class PromptError(ValueError):
    """A prompt that cannot be loaded or filled as asked."""


@dataclass(frozen=True)
class Prompt:
    """The two texts of one condition in one version; `sha256` (hex) covers both.

    `system` is empty where the prompt is one more turn of an earlier exchange.
    """

    condition: str
    version: str
    system: str
    user: str
    sha256: str

    @property
    def grants_answer(self) -> bool:
        """Whether an answer is shown."""
        return "{{answer}}" in self.user


@functools.cache
def load(condition: str, version: str | None = None) -> Prompt:
    """Return a condition's prompt, in its current version unless another is named.

    CMATCH and CCONFLICT have the files of CERT. Raises PromptError for an unknown condition or version, and for
    placeholders other than those that the condition grants: a BLIND prompt with an {{answer}} in it never loads.
    """
    source = SAME_AS.get(condition, condition)
    if source not in CURRENT:
        raise PromptError(
            f"there is no prompt for the condition {condition}; there are: {', '.join(CONDITIONS)}"
        )
    version = version or CURRENT[source]
    folder = HERE / source.lower() / version
    try:
        system = ""
        if source not in FOLLOW_UPS:
            system = (folder / "system.txt").read_text(encoding="utf-8").strip()
        user = (folder / "user.txt").read_text(encoding="utf-8").strip()
    except OSError as error:
        raise PromptError(f"there is no version {version} of the prompt {condition}") from error
    check(source, system=system, user=user)
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
