"""What a label says, apart from who said it: values, and how a set of them differs."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """Right or wrong, and the first false step (null: no error), perhaps with a defensible range."""

    final_correct: bool
    first_error_step: int | None
    first_error_step_min: int | None = None
    first_error_step_max: int | None = None

    @classmethod
    def of(
        cls, final_correct: bool | None, step: int | None, low: int | None = None, high: int | None = None
    ) -> Self | None:
        """Return the judgement, or None where nothing says right or wrong."""
        if final_correct is None:
            return None
        return cls(
            final_correct=final_correct,
            first_error_step=step,
            first_error_step_min=low,
            first_error_step_max=high,
        )

    @property
    def point(self) -> tuple[bool, int | None]:
        """The two values that can be in dispute; the range is not one of them."""
        return (self.final_correct, self.first_error_step)

    @property
    def range(self) -> tuple[int, int] | None:
        """The defensible range, or None: a range of the one step is no range."""
        low, high = self.first_error_step_min, self.first_error_step_max
        if low is None or high is None or low == high:
            return None
        return (low, high)


def merged(judgements: Iterable[Judgement]) -> list[Judgement]:
    """Return one judgement per distinct point, its range the hull of theirs; in canonical order.

    Repeats are dropped on purpose: a value that stood twice would tell which arm has two people.
    """
    groups: dict[tuple[bool, int | None], list[Judgement]] = {}
    for judgement in judgements:
        groups.setdefault(judgement.point, []).append(judgement)
    return [_hull(groups[point]) for point in sorted(groups, key=canonical)]


def kinds_of(judgements: Iterable[Judgement]) -> list[str]:
    """Return how judgements differ, in fixed order: answer, presence, step; nothing when they agree."""
    points = {judgement.point for judgement in judgements}
    steps = {step for _, step in points}
    differs = {
        "answer": len({right for right, _ in points}) > 1,
        "presence": None in steps and len(steps) > 1,
        "step": len(steps - {None}) > 1,
    }
    return [kind for kind, holds in differs.items() if holds]


def canonical(point: tuple[bool, int | None]) -> str:
    """Return one text per point, the same on every database and in every session."""
    final_correct, step = point
    return f"{'right' if final_correct else 'wrong'}/{'none' if step is None else step}"


def _hull(group: Collection[Judgement]) -> Judgement:
    first = next(iter(group))
    ranges = [judgement.range for judgement in group if judgement.range is not None]
    if first.first_error_step is None or not ranges:
        return Judgement(final_correct=first.final_correct, first_error_step=first.first_error_step)
    return Judgement(
        final_correct=first.final_correct,
        first_error_step=first.first_error_step,
        first_error_step_min=min(low for low, _ in ranges),
        first_error_step_max=max(high for _, high in ranges),
    )
