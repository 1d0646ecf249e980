"""Statistics of monitors against a reference standard: arrays in, numbers out, numpy alone.

`Reference.from_rows` and `Verdicts.from_columns` lay out the data, `Panel` holds them, `build_report`
computes every section. The functions behind the sections take a `Resample` and give arrays of 1 + B rows:
the point first, then one row per resample.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from stats.agreement import (
    Coefficient,
    arm_agreement,
    cohen_kappa,
    gwet_ac1,
    krippendorff_alpha,
    percent_agreement,
)
from stats.bootstrap import Resample, interval
from stats.detection import bounds, detect, oracle
from stats.ladder import climb, common_subset, contrast
from stats.lengths import mann_whitney
from stats.localisation import localise
from stats.panel import Panel, Reference, TraceRow, Verdicts
from stats.report import Options, build_report
from stats.revision import transitions

__all__ = [
    "Coefficient",
    "Options",
    "Panel",
    "Reference",
    "Resample",
    "TraceRow",
    "Verdicts",
    "arm_agreement",
    "bounds",
    "build_report",
    "climb",
    "code_version",
    "cohen_kappa",
    "common_subset",
    "contrast",
    "detect",
    "gwet_ac1",
    "interval",
    "krippendorff_alpha",
    "localise",
    "mann_whitney",
    "oracle",
    "percent_agreement",
    "transitions",
]


@cache
def code_version() -> str:
    """Return the sha256 of this package's source, by which a stored number tells what computed it."""
    digest = hashlib.sha256()
    root = Path(__file__).parent
    for path in sorted(root.rglob("*.py")):
        digest.update(f"{path.relative_to(root).as_posix()}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()
