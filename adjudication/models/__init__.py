"""Models of disputes, decisions and reference standards."""

from adjudication.models.blindness import Guess, OpenedArguments
from adjudication.models.dispute import Consultation, Decision, Dispute
from adjudication.models.rules import Rules, StatedGap
from adjudication.models.standard import CriticalRole, ReferenceStandard, StandardLabel

__all__ = [
    "Consultation",
    "CriticalRole",
    "Decision",
    "Dispute",
    "Guess",
    "OpenedArguments",
    "ReferenceStandard",
    "Rules",
    "StandardLabel",
    "StatedGap",
]
