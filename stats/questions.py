"""Question by question: on which do the monitors part?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stats.bootstrap import ratio
from stats.panel import Floats, Reference, Verdicts


@dataclass(frozen=True)
class ByQuestion:
    """right: share of a question's valid verdicts that judge rightly whether there is an error, NaN without
    one: (n_monitors, n_questions). split: spread (population variance) of that share over monitors, 0 where
    fewer than two have one: (n_questions,). At most 1/4, when half of the monitors are right.
    """

    monitors: tuple[str, ...]
    right: Floats
    split: Floats


def by_question(reference: Reference, verdicts: Verdicts) -> ByQuestion:
    """Score each monitor on each question: `ByQuestion`, shares of right verdicts (n_monitors, n_questions)."""
    right = verdicts.valid & (verdicts.flag == reference.has_error)
    shares = ratio(reference.by_question(right), reference.by_question(verdicts.valid))
    defined = ~np.isnan(shares)
    n = defined.sum(axis=0)
    mean = ratio(np.where(defined, shares, 0.0).sum(axis=0), n)
    squares = np.where(defined, (shares - mean) ** 2, 0.0).sum(axis=0)
    return ByQuestion(
        monitors=verdicts.monitors,
        right=shares,
        split=np.where(n >= 2, np.nan_to_num(ratio(squares, n)), 0.0),
    )
