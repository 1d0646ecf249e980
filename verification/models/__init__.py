"""Models of verification: specifications and evidence, the experts' queue, audits of answer keys."""

from verification.models.audits import AuditDecision, AuditedResponse, KeyAudit
from verification.models.evidence import CertificateSubmission, CheckResult, ExecutionRecord, Flag, Status
from verification.models.experts import ExpertItem, ExpertRuling
from verification.models.specification import ObligationMapping, Rule, TaskSpecification

__all__ = [
    "AuditDecision",
    "AuditedResponse",
    "CertificateSubmission",
    "CheckResult",
    "ExecutionRecord",
    "ExpertItem",
    "ExpertRuling",
    "Flag",
    "KeyAudit",
    "ObligationMapping",
    "Rule",
    "Status",
    "TaskSpecification",
]
