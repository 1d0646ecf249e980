"""One row of every guarded table of the app, for the test that no final row can be changed."""

from __future__ import annotations

from collections.abc import Callable

from django.db import models

from annotation.models import Study
from core.models import User
from tests.build import make_question, make_trace
from tests.verification.build import make_item, specify
from verification.models import (
    AuditDecision,
    AuditedResponse,
    CertificateSubmission,
    ExecutionRecord,
    ExpertRuling,
    Flag,
    KeyAudit,
    ObligationMapping,
    Rule,
)


def _audit(study: Study) -> KeyAudit:
    return KeyAudit.objects.create(study=study, number=1, title="joints", rule={})


def _mapping(study: Study, lead: User) -> ObligationMapping:
    trace = make_trace(make_question(study))
    return ObligationMapping.objects.create(
        trace=trace,
        specification=specify(trace.question, target="x"),
        obligation="forces",
        steps=[1],
        status="valid",
        source="test",
    )


FINAL: dict[str, Callable[[Study, User], models.Model]] = {
    "verification_keyaudit": lambda study, lead: _audit(study),
    "verification_auditedresponse": lambda study, lead: AuditedResponse.objects.create(
        audit=_audit(study), item="i", model="m", key="k", before=False, after=True, reason="r", extracted="k"
    ),
    "verification_auditdecision": lambda study, lead: AuditDecision.objects.create(
        audit=_audit(study), accepted=True, reason="r", decided_by=lead
    ),
    "verification_executionrecord": lambda study, lead: ExecutionRecord.objects.create(
        trace=make_trace(make_question(study)), source="test"
    ),
    "verification_certificatesubmission": lambda study, lead: CertificateSubmission.objects.create(
        trace=make_trace(make_question(study)), programme={}, certificate={}, source="test"
    ),
    "verification_flag": lambda study, lead: Flag.objects.create(
        trace=make_trace(make_question(study)), kind=Flag.Kind.values[0], concern="c", step=1, raised_by="m",
        fingerprint="0" * 64,
    ),
    "verification_expertruling": lambda study, lead: ExpertRuling.objects.create(
        item=make_item(make_trace(make_question(study))), outcome="unresolved", reason="r", expert=lead
    ),
    "verification_taskspecification": lambda study, lead: specify(make_question(study), target="x"),
    "verification_rule": lambda study, lead: Rule.objects.create(
        specification=specify(make_question(study), target="x"), name="n", kind=Rule.Kind.values[0]
    ),
    "verification_obligationmapping": _mapping,
}  # fmt: skip
