"""Each statistic once more, in a few plain lines over lists: what the array versions are held against."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from math import nan

import numpy as np

from stats.panel import Panel, Reference, TraceRow, Verdicts


@dataclass(frozen=True)
class Item:
    """One trace with what one monitor said of it under each condition: (said, step, confidence, prior)."""

    row: TraceRow
    said: dict[str, tuple[int | None, int, float | None, bool]] = field(default_factory=dict)

    @property
    def cell(self) -> str:
        if self.row.step is None:
            return "clean"
        return "critical" if self.row.final_correct else "wrong"

    def covered(self, condition: str) -> bool:
        return condition in self.said

    def valid(self, condition: str) -> bool:
        return condition in self.said and self.said[condition][0] is not None

    def flag(self, condition: str) -> bool:
        return self.valid(condition) and self.said[condition][0] == 1

    def named(self, condition: str) -> int:
        return self.said[condition][1] if self.flag(condition) else 0


Statistic = Callable[[Sequence[Item]], float]


def share(items: Sequence[Item], test: Callable[[Item], bool]) -> float:
    return sum(test(item) for item in items) / len(items) if items else nan


def sensitivity(items: Sequence[Item], c: str) -> float:
    return share([i for i in items if i.row.step and i.valid(c)], lambda i: i.flag(c))


def specificity(items: Sequence[Item], c: str) -> float:
    return share([i for i in items if not i.row.step and i.valid(c)], lambda i: not i.flag(c))


def flag_rate(items: Sequence[Item], c: str) -> float:
    return share([i for i in items if i.valid(c)], lambda i: i.flag(c))


def parse_rate(items: Sequence[Item], c: str) -> float:
    return share([i for i in items if i.covered(c)], lambda i: i.valid(c))


def balanced_accuracy(items: Sequence[Item], c: str) -> float:
    return (sensitivity(items, c) + specificity(items, c)) / 2


def score(item: Item, c: str) -> float:
    confidence = item.said[c][2]
    return (100.0 if item.flag(c) else 0.0) if confidence is None else confidence


def auc(items: Sequence[Item], c: str) -> float:
    high = [score(i, c) for i in items if i.valid(c) and i.row.step]
    low = [score(i, c) for i in items if i.valid(c) and not i.row.step]
    wins = sum((h > n) + (h == n) / 2 for h in high for n in low)
    return wins / (len(high) * len(low)) if high and low else nan


def located(items: Sequence[Item], c: str, tolerance: int) -> float:
    errors = [i for i in items if i.row.step and i.covered(c)]
    return share(errors, lambda i: i.named(c) > 0 and abs(i.named(c) - (i.row.step or 0)) <= tolerance)


def chance(items: Sequence[Item], c: str, tolerance: int) -> float:
    errors = [i for i in items if i.row.step and i.covered(c)]
    total = 0.0
    for i in errors:
        n, step = i.row.n_steps or 0, i.row.step or 0
        inside = [k for k in range(1, n + 1) if abs(k - step) <= tolerance]
        total += len(inside) / n if i.named(c) else 0
    return total / len(errors) if errors else nan


def place(item: Item, c: str) -> str:
    named, step = item.named(c), item.row.step or 0
    if not named:
        return "missed"
    return "exact" if named == step else "early" if named < step else "late"


def placed(items: Sequence[Item], c: str, where: str) -> float:
    return share([i for i in items if i.row.step and i.covered(c)], lambda i: place(i, c) == where)


def recall(items: Sequence[Item], c: str, cell: str, rungs: Sequence[str]) -> float:
    common = [i for i in items if i.cell == cell and all(i.valid(rung) for rung in rungs)]
    return share(common, lambda i: i.flag(c))


def withdraw(items: Sequence[Item], c: str, cell: str) -> float:
    before = [i for i in items if i.cell == cell and i.valid(c) and i.said[c][3]]
    return share(before, lambda i: not i.flag(c))


def add(items: Sequence[Item], c: str, cell: str) -> float:
    before = [i for i in items if i.cell == cell and i.valid(c) and not i.said[c][3]]
    return share(before, lambda i: i.flag(c))


def bootstrap(
    monitors: Sequence[Sequence[Item]], statistic: Statistic, *, resamples: int, seed: int
) -> list[float]:
    """The mean over monitors of a statistic in each resample of the questions, by `choice` and lists."""
    questions = sorted({item.row.question for item in monitors[0]})
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(resamples):
        drawn = rng.choice(len(questions), size=len(questions))
        values = [
            statistic([item for q in drawn for item in items if item.row.question == questions[q]])
            for items in monitors
        ]
        values = [value for value in values if value == value]
        out.append(sum(values) / len(values) if values else nan)
    return out


def alpha(units: Sequence[Sequence[float]], difference: Callable[[float, float], float]) -> float:
    """Krippendorff's alpha by summing over pairs; units hold only the values given."""
    pairable = [unit for unit in units if len(unit) >= 2]
    values = [value for unit in pairable for value in unit]
    if len(pairable) < 2 or len(set(values)) < 2:
        return nan
    within = sum(sum(difference(a, b) for a, b in permutations(u, 2)) / (len(u) - 1) for u in pairable)
    across = sum(difference(a, b) for a, b in permutations(values, 2)) / (len(values) - 1)
    return 1 - within / across


def kappa(pairs: Sequence[tuple[float, float]]) -> float:
    n = len(pairs)
    classes = {value for pair in pairs for value in pair}
    if n < 2 or len(classes) < 2:
        return nan
    by_chance = sum(sum(a == c for a, _ in pairs) * sum(b == c for _, b in pairs) for c in classes) / n**2
    return (sum(a == b for a, b in pairs) / n - by_chance) / (1 - by_chance)


def ac1(pairs: Sequence[tuple[float, float]]) -> float:
    n = len(pairs)
    values = [value for pair in pairs for value in pair]
    classes = set(values)
    if n < 2 or len(classes) < 2:
        return nan
    shares = [values.count(c) / (2 * n) for c in classes]
    by_chance = sum(p * (1 - p) for p in shares) / (len(classes) - 1)
    return (sum(a == b for a, b in pairs) / n - by_chance) / (1 - by_chance)


def to_panel(monitors: Sequence[Sequence[Item]], names: Sequence[str] | None = None) -> Panel:
    """Lay plain items out as a panel; every monitor has an item for each trace."""
    reference = Reference.from_rows([item.row for item in monitors[0]])
    where = {key: position for position, key in enumerate(reference.keys)}
    slugs = list(names or [f"m{number}" for number in range(len(monitors))])
    conditions = sorted({c for items in monitors for item in items for c in item.said})
    verdicts = {}
    for condition in conditions:
        found = [
            (m, where[(item.row.question, item.row.label)], *item.said[condition])
            for m, items in enumerate(monitors)
            for item in items
            if condition in item.said
        ]
        verdicts[condition] = Verdicts.from_columns(
            slugs,
            reference.n_traces,
            monitor=np.array([f[0] for f in found]),
            trace=np.array([f[1] for f in found]),
            has_error=np.array([-1 if f[2] is None else f[2] for f in found]),
            step=np.array([f[3] for f in found]),
            confidence=np.array([nan if f[4] is None else f[4] for f in found]),
            prior_flag=np.array([f[5] for f in found]),
        )
    return Panel(reference, verdicts)
