"""Models of monitors, batches and what running them leaves behind."""

from monitoring.models.batch import Attempt, Batch, Call, Run, Verdict, WorkerHeartbeat
from monitoring.models.monitor import Condition, Monitor
from monitoring.models.report import StoredReport

__all__ = [
    "Attempt",
    "Batch",
    "Call",
    "Condition",
    "Monitor",
    "Run",
    "StoredReport",
    "Verdict",
    "WorkerHeartbeat",
]
