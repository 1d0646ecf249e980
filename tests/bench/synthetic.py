"""Data of the published study's shape, made from a seed: figures need no shared files."""

from __future__ import annotations

import numpy as np

from stats.panel import CONDITIONS, Panel, Reference, TraceRow, Verdicts


def panel(*, questions: int, monitors: int, seed: int = 0) -> Panel:
    """Make a panel of three traces a question under the six natural conditions."""
    rng = np.random.default_rng(seed)
    rows = []
    for question in range(questions):
        for label in "ABC":
            n_steps = int(rng.integers(4, 40))
            wrong = bool(rng.random() < 0.45)
            rows.append(
                TraceRow(
                    question=f"q{question:07d}",
                    label=f"Response {label}",
                    final_correct=bool(rng.random() < (0.2 if wrong else 1.0)),
                    step=int(rng.integers(1, n_steps + 1)) if wrong else None,
                    n_steps=n_steps,
                )
            )
    reference = Reference.from_rows(rows)
    n = reference.n_traces
    names = tuple(f"monitor-{number}" for number in range(monitors))
    verdicts = {}
    for condition in CONDITIONS:
        flags = rng.random((monitors, n)) < np.where(reference.has_error, 0.7, 0.3)
        said = np.where(rng.random((monitors, n)) < 0.01, -1, flags.astype(np.int64))
        steps = np.where(said == 1, rng.integers(1, 4, (monitors, n)), 0)
        monitor, trace = np.divmod(np.arange(monitors * n), n)
        verdicts[condition] = Verdicts.from_columns(
            names,
            n,
            monitor=monitor,
            trace=trace,
            has_error=said.ravel(),
            step=steps.ravel(),
            confidence=rng.integers(0, 101, monitors * n).astype(float),
            prior_flag=rng.random(monitors * n) < 0.5,
        )
    return Panel(reference=reference, verdicts=verdicts)
