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
from stats.annotators import annotator_pairs
from stats.binomial import share_of
from stats.bootstrap import Resample, interval
from stats.calibration import calibrate, median_when_passing
from stats.certificate import interior_attribution, paired, rates_side_by_side, suppressed_localisations
from stats.comparison import pairwise, without_each
from stats.detection import bounds, detect, oracle
from stats.graders import crossed_correction, effective_size, grader_rates, intraclass_correlation
from stats.ladder import climb, common_subset, consensus_subset, contrast, sign_test, subset_localisation
from stats.lengths import mann_whitney
from stats.localisation import localise
from stats.panel import Panel, Reference, TraceRow, Verdicts
from stats.pilot import pilot_agreement
from stats.positions import positions, positions_of_errors
from stats.power import simulate_power
from stats.processbench import processbench
from stats.questions import by_question
from stats.report import Options, build_report
from stats.revision import transitions
from stats.stratified import StratifiedResample, adjusted
from stats.variants import by_arm, disputed

__all__ = [
    "Coefficient",
    "Options",
    "Panel",
    "Reference",
    "Resample",
    "StratifiedResample",
    "TraceRow",
    "Verdicts",
    "adjusted",
    "annotator_pairs",
    "arm_agreement",
    "bounds",
    "build_report",
    "by_arm",
    "by_question",
    "calibrate",
    "climb",
    "code_version",
    "cohen_kappa",
    "common_subset",
    "consensus_subset",
    "contrast",
    "crossed_correction",
    "detect",
    "disputed",
    "effective_size",
    "grader_rates",
    "gwet_ac1",
    "interior_attribution",
    "interval",
    "intraclass_correlation",
    "krippendorff_alpha",
    "localise",
    "mann_whitney",
    "median_when_passing",
    "oracle",
    "paired",
    "pairwise",
    "percent_agreement",
    "pilot_agreement",
    "positions",
    "positions_of_errors",
    "processbench",
    "rates_side_by_side",
    "share_of",
    "sign_test",
    "simulate_power",
    "subset_localisation",
    "suppressed_localisations",
    "transitions",
    "without_each",
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
