"""Models of disputes, decisions and reference standards."""

from adjudication.models.dispute import Consultation, Decision, Dispute
from adjudication.models.standard import CriticalRole, ReferenceStandard, StandardLabel

__all__ = [
    "Consultation",
    "CriticalRole",
    "Decision",
    "Dispute",
    "ReferenceStandard",
    "StandardLabel",
]
