"""Models of studies and of the labels put on their traces."""

from annotation.models.label import Draft, GuidelineVersion, KeyReport, Label, Reservation, Skip
from annotation.models.queue import Assignment, Pause, PersonProgress, StudyProgress, TraceProgress
from annotation.models.study import Membership, Question, ReferenceAnswer, Role, Study, Trace

__all__ = [
    "Assignment",
    "Draft",
    "GuidelineVersion",
    "KeyReport",
    "Label",
    "Membership",
    "Pause",
    "PersonProgress",
    "Question",
    "ReferenceAnswer",
    "Reservation",
    "Role",
    "Skip",
    "Study",
    "StudyProgress",
    "Trace",
    "TraceProgress",
]
