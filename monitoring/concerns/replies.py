"""Reading replies of layer 2: the concerns that can be tied to something, or nothing; never a verdict."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from llm.lenient import Object, descend
from llm.scan import find_objects
from llm.types import Reply
from monitoring.concerns.prompts import Material

KINDS = ("insufficient_evidence", "misapplied_rule", "exceeds_premises", "gap")
MOST = 50  # concerns about one trace; who names more points nowhere
MAX_CONCERN = 2_000
MAX_VALUE = 500
_CUT_OFF = ("length", "max_tokens", "MAX_TOKENS")


@dataclass(frozen=True)
class Reading:
    """The flags of a reply, each {"kind", "concern", and one of "step", "call", "value"}, and why others fell out."""

    flags: tuple[dict[str, Any], ...]
    dropped: tuple[str, ...] = ()


def read(reply: Reply, *, material: Material) -> Reading | None:
    """Return what a reply points at; None if no list of flags can be read for certain.

    An empty list is a reading: there was no concern. A concern of an unknown kind, without words, or tied to
    nothing, to several things, or to what is not there is dropped with its reason, never mended. Whatever else
    the reply holds, such as a verdict, is not read.
    """
    found = find_objects(reply.text, watched=frozenset({"flags"}))
    lists = [
        values[-1]
        for candidate in found.objects
        if not candidate.doubtful
        for pairs, _ in descend(candidate.value, "flags")
        if isinstance((values := pairs.values("flags"))[-1], list)
    ]
    if not lists or found.unfinished or reply.finish_reason in _CUT_OFF:
        return None
    flags: list[dict[str, Any]] = []
    dropped: list[str] = []
    for number, item in enumerate(lists[-1], start=1):
        flag = _flag(item, material) if number <= MOST else f"more than {MOST} concerns"
        if isinstance(flag, str):
            dropped.append(f"{number}: {flag}")
        elif flag not in flags:
            flags.append(flag)
    return Reading(tuple(flags), tuple(dropped))


def _flag(item: Any, material: Material) -> dict[str, Any] | str:
    """Return one flag, or why it is none."""
    if not isinstance(item, Object):
        return "not an object"
    kind, concern = _last(item, "kind"), _last(item, "concern")
    kind = kind.strip().lower().replace(" ", "_").replace("-", "_") if isinstance(kind, str) else kind
    if kind not in KINDS:
        return "not of a known kind"
    if not isinstance(concern, str) or not concern.strip():
        return "it states no concern"
    ties: dict[str, Any] = {}
    for name, most in (("step", len(material.steps)), ("call", len(material.calls))):
        given = _last(item, name)
        if given is None or given == "":
            continue
        number = int(given) if isinstance(given, str) and re.fullmatch(r"\s*[0-9]{1,6}\s*", given) else given
        if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= most:
            return f"there is no such {name}"
        ties[name] = number
    value = _last(item, "value")
    if isinstance(value, str) and value.strip():
        if len(value.strip()) > MAX_VALUE or value.strip() not in material.text:
            return "the value does not stand in the trace as written"
        ties["value"] = value.strip()
    elif value is not None and value != "":
        return "the value is no text"
    if len(ties) != 1:
        return "tied to nothing" if not ties else "tied to several things"
    return {"kind": kind, "concern": concern.strip()[:MAX_CONCERN], **ties}


def _last(item: Object, name: str) -> Any:
    values = item.values(name)
    return values[-1] if values else None
