"""Models of studies and of the labels put on their traces."""

from annotation.models.debate import DebateRound
from annotation.models.label import Draft, GuidelineVersion, KeyReport, Label, Reservation, Skip
from annotation.models.study import Membership, Question, ReferenceAnswer, Role, Study, Trace

__all__ = [
    "DebateRound",
    "Draft",
    "GuidelineVersion",
    "KeyReport",
    "Label",
    "Membership",
    "Question",
    "ReferenceAnswer",
    "Reservation",
    "Role",
    "Skip",
    "Study",
    "Trace",
]
