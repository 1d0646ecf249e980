"""How a report is computed."""

from __future__ import annotations

from dataclasses import dataclass

OWN = "own"
PUBLISHED = "published"
CONVENTIONS = (OWN, PUBLISHED)


@dataclass(frozen=True)
class Options:
    """Resamples and seed of the bootstrap, and whose convention holds where ours and print differ.

    studies: simulated studies of each size in the section on power; 0 leaves the section out.
    """

    resamples: int = 2000
    seed: int = 0
    convention: str = OWN
    studies: int = 300

    def __post_init__(self) -> None:
        if self.convention not in CONVENTIONS:
            raise ValueError(f"a convention is one of {', '.join(CONVENTIONS)}")
        if min(self.resamples, self.seed, self.studies) < 0:
            raise ValueError("resamples, seed and studies are not negative")
