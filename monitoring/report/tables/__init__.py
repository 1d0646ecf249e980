"""The report's tables, once: printed, typeset and shown from the same rows."""

from __future__ import annotations

from typing import Any

from monitoring.report.cells import Table
from monitoring.report.tables.calibration import calibration_tables
from monitoring.report.tables.certificates import certificate_tables, fate_tables, revision_tables
from monitoring.report.tables.comparison import leave_one_out_tables, pairwise_tables, processbench_tables
from monitoring.report.tables.dependence import dependence_tables, involvement_tables
from monitoring.report.tables.detection import detection_tables, localisation_tables
from monitoring.report.tables.grading import grading_tables
from monitoring.report.tables.length import length_tables
from monitoring.report.tables.outcomes import bounds_tables, outcome_tables
from monitoring.report.tables.power import power_tables
from monitoring.report.tables.recall import contrast_tables, recall_tables, subset_tables
from monitoring.report.tables.standard import arms_tables, standard_tables


def tables(report: dict[str, Any]) -> list[Table]:
    """Return the tables that a report has data for, in the order of reading."""
    made = [
        *detection_tables(report),
        *localisation_tables(report),
        *recall_tables(report),
        *contrast_tables(report),
        *subset_tables(report),
        *certificate_tables(report),
        *fate_tables(report),
        *revision_tables(report),
        *leave_one_out_tables(report),
        *pairwise_tables(report),
        *processbench_tables(report),
        *dependence_tables(report),
        *involvement_tables(report),
        *length_tables(report),
        *calibration_tables(report),
        *power_tables(report),
        *standard_tables(report),
        *grading_tables(report),
        *arms_tables(report),
        *outcome_tables(report),
        *bounds_tables(report),
    ]
    return [table for table in made if table.rows]
