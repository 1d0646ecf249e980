"""How a report is computed."""

from __future__ import annotations

from dataclasses import dataclass

OWN = "own"
PUBLISHED = "published"
CONVENTIONS = (OWN, PUBLISHED)


@dataclass(frozen=True)
class Options:
    """Resamples and seed of the bootstrap, and whose convention holds where ours and print differ."""

    resamples: int = 2000
    seed: int = 0
    convention: str = OWN

    def __post_init__(self) -> None:
        if self.convention not in CONVENTIONS:
            raise ValueError(f"a convention is one of {', '.join(CONVENTIONS)}")
        if self.resamples < 0 or self.seed < 0:
            raise ValueError("resamples and seed are not negative")
