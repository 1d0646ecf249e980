"""Models of monitors, batches and what running them leaves behind."""

from monitoring.models.batch import Attempt, Batch, Call, Run, RunCount, Verdict, WorkerHeartbeat
from monitoring.models.inquiry import Inquiry
from monitoring.models.monitor import Condition, Monitor, Pace
from monitoring.models.provider_batch import ProviderBatch
from monitoring.models.report import StoredReport

__all__ = [
    "Attempt",
    "Batch",
    "Call",
    "Condition",
    "Inquiry",
    "Monitor",
    "Pace",
    "ProviderBatch",
    "Run",
    "RunCount",
    "StoredReport",
    "Verdict",
    "WorkerHeartbeat",
]
