"""Builders for verification: specifications, execution records, files of evidence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.db import models, transaction

from annotation.models import Question, Study, Trace
from core.models import User
from tests.build import make_question, make_trace
from verification.models import (
    AuditDecision,
    AuditedResponse,
    CertificateSubmission,
    ExecutionRecord,
    ExpertItem,
    ExpertRuling,
    Flag,
    KeyAudit,
    ObligationMapping,
    Rule,
    TaskSpecification,
)
from verification.services.evidence import put_execution
from verification.services.experts import send_to_experts
from verification.services.specifications import put_specification

OBLIGATIONS = [
    {"id": "forces", "text": "The forces are listed", "needs": []},
    {"id": "balance", "text": "They balance", "needs": ["forces"]},
    {"id": "answer", "text": "The answer follows", "needs": ["balance"]},
]
NUMBER = {"name": "final answer", "kind": "final_answer", "spec": {"kind": "number", "relative": "0.01"}}


def specify(question: Question, **data: Any) -> TaskSpecification:
    with transaction.atomic():
        made = put_specification(question=question, data=data, author=None, source="test")
    assert made is not None
    return made


def record_execution(trace: Trace, **data: Any) -> None:
    with transaction.atomic():
        put_execution(trace=trace, data=data, source="test")


def make_item(trace: Trace, reason: str = "The limit may not commute with the integral.") -> ExpertItem:
    return send_to_experts(trace=trace, reason=reason, actor=None)


def write_lines(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def _trace(study: Study) -> Trace:
    return make_trace(make_question(study))


def _audit(study: Study) -> KeyAudit:
    return KeyAudit.objects.create(study=study, number=1, title="x", rule={})


FINAL_ROWS: dict[str, Callable[[Study, User], models.Model]] = {
    "verification_taskspecification": lambda study, lead: specify(make_question(study), target="x"),
    "verification_rule": lambda study, lead: Rule.objects.create(
        specification=specify(make_question(study), target="x"), name="x", kind="deliverable"
    ),
    "verification_obligationmapping": lambda study, lead: ObligationMapping.objects.create(
        trace=_trace(study),
        specification=specify(make_question(study), target="x"),
        obligation="x",
        status="valid",
        source="test",
    ),
    "verification_executionrecord": lambda study, lead: ExecutionRecord.objects.create(
        trace=_trace(study), source="test"
    ),
    "verification_certificatesubmission": lambda study, lead: CertificateSubmission.objects.create(
        trace=_trace(study), programme={}, certificate={}, source="test"
    ),
    "verification_flag": lambda study, lead: Flag.objects.create(
        trace=_trace(study), kind="gap", concern="x", step=1, raised_by="m", fingerprint="f"
    ),
    "verification_expertruling": lambda study, lead: ExpertRuling.objects.create(
        item=make_item(_trace(study)), outcome="unresolved", reason="x", expert=lead
    ),
    "verification_keyaudit": lambda study, lead: _audit(study),
    "verification_auditedresponse": lambda study, lead: AuditedResponse.objects.create(
        audit=_audit(study), item="i", model="m", key="k", before=False, after=True, reason="r", extracted="e"
    ),
    "verification_auditdecision": lambda study, lead: AuditDecision.objects.create(
        audit=_audit(study), accepted=True, reason="x", decided_by=lead
    ),
}
