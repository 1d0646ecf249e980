"""Reading the replies of the debate's rounds: the verdict with its fields, or nothing."""

from __future__ import annotations

from typing import Any

from llm.lenient import descend
from llm.scan import find_objects
from llm.types import Reply

_NAMES = (
    *("is_correct", "error_step", "confidence", "reference_dispute", "reference_dispute_reason"),
    *("notes", "agree_with_prior", "critique", "changed_mind", "needs_human", "resolution"),
    *("final_rationale", "skipped"),
)
_CANONICAL = {name.replace("_", ""): name for name in _NAMES}
_TRUTHS = {"is_correct", "reference_dispute", "agree_with_prior", "changed_mind", "needs_human", "skipped"}
_WORDS = {"0": 0, "1": 1, "false": 0, "true": 1, "no": 0, "yes": 1}


def read(reply: Reply, *, n_steps: int) -> dict[str, Any] | None:
    """Return the fields of the last verdict in a reply, None if it cannot be read for certain.

    Truths become 0 or 1. Without `skipped`, `is_correct` must be there, and `error_step` be null or 1..n_steps.
    """
    found = find_objects(reply.text, watched=frozenset({"iscorrect", "errorstep"}))
    verdicts = [
        pairs
        for candidate in found.objects
        if not candidate.doubtful
        for pairs, _ in descend(candidate.value, "iscorrect", skip=frozenset())
    ]
    if not verdicts or found.unfinished:
        return None
    said: dict[str, Any] = {}
    for canonical, name in _CANONICAL.items():
        values = verdicts[-1].values(canonical)
        if values:
            said[name] = values[-1]
    for name in _TRUTHS & set(said):
        truth = _truth(said[name])
        if truth is None:
            if name == "is_correct" and _truth(said.get("skipped")) == 1:
                del said[name]
                continue
            return None
        said[name] = truth
    for name in set(said) - _TRUTHS - {"error_step", "confidence"}:
        said[name] = said[name] if isinstance(said[name], str) else ""
    return said if _is_sound(said, n_steps) else None


def _is_sound(said: dict[str, Any], n_steps: int) -> bool:
    if said.get("skipped") == 1:
        said.pop("error_step", None)
        return True
    step = said.get("error_step")
    if isinstance(step, str) and step.strip().isdigit():
        step = said["error_step"] = int(step)
    if step is not None and (isinstance(step, bool) or not isinstance(step, int) or not 1 <= step <= n_steps):
        return False
    confidence = said.get("confidence")
    if isinstance(confidence, bool) or not isinstance(confidence, int) or not 1 <= confidence <= 5:
        said.pop("confidence", None)
    return "is_correct" in said and "error_step" in said


def _truth(value: Any) -> int | None:
    if isinstance(value, str):
        return _WORDS.get(value.strip().lower())
    return int(value) if isinstance(value, (bool, int, float)) and value in (0, 1) else None
