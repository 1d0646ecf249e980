"""Where a number leads: the query that lists the traces it is made of."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from django.urls import reverse

from adjudication.models import ReferenceStandard

# All ready traces of the standard: a query all the same, since a number without one has no link.
ALL = "all=1"
# The traces that a figure is over, where they are not all.
BEHIND = {
    "flag_rate": {"said": "valid"},
    "sensitivity": {"cell": "error", "said": "valid"},
    "specificity": {"cell": "clean", "said": "valid"},
    "balanced_accuracy": {"said": "valid"},
    "auc": {"said": "valid"},
    "L0": {"cell": "error"},
    "L0_chance": {"cell": "error"},
    "L0_skill": {"cell": "error"},
    "L0_in_range": {"cell": "error"},
    "L1": {"cell": "error"},
    "wrong": {"cell": "wrong", "said": "valid"},
    "critical": {"cell": "critical", "said": "valid"},
}


def certificate_pairs(contrast: str) -> dict[str, str]:
    """The verdicts whose flags a contrast of certificates pairs, as what to ask for."""
    later, earlier = contrast.split("-")
    cell = "clean" if "CCONFLICT" in contrast else "wrong"
    return {"condition": later, "said": "valid", "valid": earlier, "cell": cell}


def recall_of(condition: str, cell: str) -> dict[str, str]:
    """The verdicts that a recall of the common subset is over, as what to ask for."""
    return {"condition": condition, "cell": cell, "said": "valid", "among": "common"}


def recall_pairs(contrast: str, cell: str) -> dict[str, str]:
    """The verdicts whose recalls a contrast pairs; of a difference, those on both cells."""
    later, earlier = contrast.split("-")
    return {**recall_of(later, "error" if cell == "difference" else cell), "valid": earlier}


def link(**asked: str) -> str:
    """Return the query that lists the traces of a condition, monitor, cell, outcome or place; see `behind.PARTS`."""
    return urlencode({name: value for name, value in asked.items() if value})


def traces_address(standard: ReferenceStandard, selected: Mapping[str, str] | None = None) -> str:
    """Return the address of a standard's traces, of the selected part of it, for the query of a number to follow."""
    address = reverse("report_traces", args=[standard.study.slug, standard.version])
    return f"{address}?{urlencode(selected)}&" if selected else f"{address}?"
