"""The worked responses of seeds/003 section 2, read from the shared folder (they are not ours to keep)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

STABLE = "stable; after removing block E, every cumulative center of mass remains within its supporting base"
UNSTABLE = (
    "unstable; after removing block C, the cumulative center of mass at the joint between block {} and "
    "block {} lies outside its supporting base"
)
ITEM = re.compile(
    r"^\d+\. \*\*(?P<model>.+?) — `(?P<item>\w+)` — target `(?P<target>[^`]+)` — (?P<ruling>ACCEPT|REJECT)\*\*\n"
    r"\s+- `(?P<response>ANSWER:.*)`\n\s+- Extracted: `(?P<extracted>[^`]+)`",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Worked:
    """One worked response with its published ruling and extraction."""

    model: str
    key: str
    response: str
    accepted: bool
    extracted: str


def key_of(target: str) -> str:
    """Return a whole key for a target such as `unstable, (B,A)`."""
    pair = re.search(r"\((\w),(\w)\)", target)
    return UNSTABLE.format(*pair.groups()) if pair else STABLE


def worked(shared: Path) -> list[Worked]:
    """Return the 20 worked responses."""
    (path,) = shared.glob("seeds/003_*.txt")
    return [
        Worked(
            match["model"],
            key_of(match["target"]),
            match["response"],
            match["ruling"] == "ACCEPT",
            match["extracted"],
        )
        for match in ITEM.finditer(path.read_text(encoding="utf-8"))
    ]
