"""Models of studies and of the labels put on their traces."""

from annotation.models.debate import DebateRound
from annotation.models.invitation import Invitation
from annotation.models.label import Draft, GuidelineVersion, KeyReport, Label, Reservation, Skip
from annotation.models.pilot import Coherence, ErrorType, PilotJudgement
from annotation.models.queue import Assignment, Pause, PersonProgress, StudyProgress, TraceProgress
from annotation.models.study import Membership, Question, ReferenceAnswer, Role, Study, Trace
from annotation.models.training import CheckItem, GateAnswer, GateResult, TrainingPlan

__all__ = [
    "Assignment",
    "CheckItem",
    "Coherence",
    "DebateRound",
    "Draft",
    "ErrorType",
    "GateAnswer",
    "GateResult",
    "GuidelineVersion",
    "Invitation",
    "KeyReport",
    "Label",
    "Membership",
    "Pause",
    "PersonProgress",
    "PilotJudgement",
    "Question",
    "ReferenceAnswer",
    "Reservation",
    "Role",
    "Skip",
    "Study",
    "StudyProgress",
    "Trace",
    "TraceProgress",
    "TrainingPlan",
]
