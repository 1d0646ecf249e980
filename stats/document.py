"""Numbers as JSON: NaN becomes null with its reason beside it, intervals stand beside their points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stats.bootstrap import interval
from stats.panel import Floats

NO_MONITOR = "no monitor has a defined value"
NO_RESAMPLE = "undefined in every resample"


def put(out: dict[str, Any], name: str, samples: Floats, reason: str) -> None:
    """Write a statistic (1 + B,), row 0 the point, as `name` and `name_ci`.

    An undefined point is null, with `name_reason`, and has no interval. Where some resamples are undefined,
    `name_ci_resamples` says how many the interval rests on.
    """
    point = float(samples[0])
    if np.isnan(point):
        out[name] = None
        out[f"{name}_reason"] = reason
        return
    out[name] = point
    put_interval(out, f"{name}_ci", samples)


def put_interval(out: dict[str, Any], name: str, samples: Floats) -> None:
    """Write the interval of a statistic (1 + B,) as `name`; nothing when there was no resampling."""
    if len(samples) < 2:
        return
    found = interval(samples[1:])
    if found is None:
        out[name] = None
        out[f"{name}_reason"] = NO_RESAMPLE
        return
    out[name] = [found.low, found.high]
    if found.defined < len(samples) - 1:
        out[f"{name}_resamples"] = found.defined


def put_value(out: dict[str, Any], name: str, value: float, reason: str) -> None:
    """Write a number that has no interval; null with `name_reason` where it is NaN."""
    out[name] = None if np.isnan(value) else float(value)
    if np.isnan(value):
        out[f"{name}_reason"] = reason


def by_monitor(monitors: Sequence[str], samples: Floats, reason: str, name: str) -> dict[str, dict[str, Any]]:
    """Write a statistic (1 + B, n_monitors) as {monitor: {name, name_ci}}."""
    out: dict[str, dict[str, Any]] = {}
    for position, monitor in enumerate(monitors):
        put(out.setdefault(monitor, {}), name, samples[:, position], reason)
    return out
