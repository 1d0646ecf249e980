"""Every row that a migration guards refuses UPDATE and DELETE by SQL, on either database."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from django.db import DatabaseError, connection, models, transaction
from django.db.migrations.loader import MigrationLoader

from adjudication.models import Consultation, CriticalRole, Guess, OpenedArguments, StatedGap
from annotation.models import (
    DebateRound,
    GateAnswer,
    GateResult,
    GuidelineVersion,
    KeyReport,
    PilotJudgement,
    Study,
    Trace,
)
from core import audit
from core.guards import GuardFinalRows
from core.models import AuditEntry, User
from monitoring.models import Attempt, Batch, Call, Monitor, Run, Verdict
from tests.adjudication.build import make_dispute, make_standard, settle
from tests.annotation.build import make_check_item
from tests.build import make_label, make_question, make_trace
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

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def _guards() -> list[tuple[str, str]]:
    """Return (table, verb) of every guard that a migration ever set; later ones may narrow its condition."""
    operations = (
        operation
        for migration in MigrationLoader(None).disk_migrations.values()
        for operation in migration.operations
        if isinstance(operation, GuardFinalRows)
    )
    return sorted({(guard.table, verb) for guard in operations for verb in guard.verbs})


def _attempt(study: Study, lead: User) -> Attempt:
    monitor = Monitor.objects.create(study=study, slug="always", provider="always")
    batch = Batch.objects.create(study=study, standard=make_standard(study), number=1)
    run = Run.objects.create(batch=batch, monitor=monitor, condition="BLIND")
    trace = Trace.objects.filter(study=study).first()
    assert trace is not None
    call = Call.objects.create(run=run, trace=trace)
    return Attempt.objects.create(call=call, number=1, owner="w", started_at=NOW, finished_at=NOW)


def _verdict(study: Study, lead: User) -> Verdict:
    attempt = _attempt(study, lead)
    return Verdict.objects.create(
        run=attempt.call.run, trace=attempt.call.trace, attempt=attempt, outcome="ok", has_error=False
    )


def _key_audit(study: Study) -> KeyAudit:
    return KeyAudit.objects.create(study=study, number=1, title="t", rule={})


def _specification(study: Study) -> TaskSpecification:
    return TaskSpecification.objects.create(question=make_question(study), source="x")


def _obligation_mapping(study: Study, lead: User) -> ObligationMapping:
    specification = _specification(study)
    return ObligationMapping.objects.create(
        trace=make_trace(specification.question),
        specification=specification,
        obligation="o",
        status="valid",
        source="x",
    )


def _audit_entry(study: Study, lead: User) -> AuditEntry:
    return audit.record(scope=study.slug, actor=lead, action="tested", subject="s")


FINAL: dict[str, Callable[[Study, User], models.Model]] = {
    "adjudication_decision": lambda study, lead: settle(make_dispute(study), lead),
    "adjudication_consultation": lambda study, lead: Consultation.objects.create(
        decision=settle(make_dispute(study), lead), who="a colleague"
    ),
    "adjudication_referencestandard": lambda study, lead: make_standard(study),
    "adjudication_standardlabel": lambda study, lead: make_standard(study).labels.get(),
    "adjudication_criticalrole": lambda study, lead: CriticalRole.objects.create(
        trace=make_trace(make_question(study)), kind="substantive"
    ),
    "adjudication_guess": lambda study, lead: Guess.objects.create(
        decision=settle(make_dispute(study), lead), person=lead
    ),
    "adjudication_openedarguments": lambda study, lead: OpenedArguments.objects.create(
        dispute=make_dispute(study), person=lead
    ),
    "adjudication_statedgap": lambda study, lead: StatedGap.objects.create(study=study, reason="x"),
    "annotation_debateround": lambda study, lead: DebateRound.objects.create(
        trace=make_trace(make_question(study)), name="R1", model="m", source="test"
    ),
    "annotation_gateanswer": lambda study, lead: GateAnswer.objects.create(
        item=make_check_item(study), person=lead, attempt=1, final_correct=True
    ),
    "annotation_gateresult": lambda study, lead: GateResult.objects.create(
        study=study,
        person=lead,
        attempt=1,
        items=1,
        answers_right=1,
        steps_right=1,
        answer_mark=80,
        step_mark=60,
        passed=True,
    ),
    "annotation_pilotjudgement": lambda study, lead: PilotJudgement.objects.create(
        label=make_label(make_trace(make_question(study))), coherence="partly"
    ),
    "annotation_guidelineversion": lambda study, lead: GuidelineVersion.objects.create(
        study=study, version=1, text="x"
    ),
    "annotation_keyreport": lambda study, lead: KeyReport.objects.create(
        question=make_question(study), reporter=lead, reference_version=1, reason="x"
    ),
    "annotation_label": lambda study, lead: make_label(make_trace(make_question(study))),
    "annotation_referenceanswer": lambda study, lead: make_question(study).reference_answers.get(),
    "annotation_trace": lambda study, lead: make_trace(make_question(study)),
    "core_auditentry": _audit_entry,
    "verification_auditdecision": lambda study, lead: AuditDecision.objects.create(
        audit=_key_audit(study), accepted=True, reason="x", decided_by=lead
    ),
    "verification_auditedresponse": lambda study, lead: AuditedResponse.objects.create(
        audit=_key_audit(study), item="1", model="m", key="k", before=True, after=False
    ),
    "verification_certificatesubmission": lambda study, lead: CertificateSubmission.objects.create(
        trace=make_trace(make_question(study)), programme={}, certificate={}, source="x"
    ),
    "verification_executionrecord": lambda study, lead: ExecutionRecord.objects.create(
        trace=make_trace(make_question(study)), source="x"
    ),
    "verification_expertruling": lambda study, lead: ExpertRuling.objects.create(
        item=ExpertItem.objects.create(study=study, trace=make_trace(make_question(study)), reason="x"),
        outcome="valid",
        reason="x",
        expert=lead,
    ),
    "verification_flag": lambda study, lead: Flag.objects.create(
        trace=make_trace(make_question(study)),
        kind="gap",
        concern="x",
        step=1,
        raised_by="m",
        fingerprint="f",
    ),
    "verification_keyaudit": lambda study, lead: _key_audit(study),
    "verification_obligationmapping": _obligation_mapping,
    "verification_rule": lambda study, lead: Rule.objects.create(
        specification=_specification(study), name="r", kind="final_answer"
    ),
    "verification_taskspecification": lambda study, lead: _specification(study),
    "monitoring_attempt": _attempt,
    "monitoring_verdict": _verdict,
}


def test_every_guarded_table_is_tried() -> None:
    assert set(FINAL) == {table for table, _ in _guards()}


@pytest.mark.parametrize(("table", "verb"), _guards())
def test_a_final_row_refuses_update_and_delete_by_sql(
    study: Study, adam: User, table: str, verb: str
) -> None:
    row = FINAL[table](study, adam)
    statement = {
        "UPDATE": f"UPDATE {table} SET id = id WHERE id = %s",
        "DELETE": f"DELETE FROM {table} WHERE id = %s",
    }[verb]
    with (
        pytest.raises(DatabaseError, match=f"{table}: a final row refuses {verb}"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement, [row.pk])
    assert type(row)._default_manager.filter(pk=row.pk).exists()


@pytest.mark.parametrize(("table", "verb"), _guards())
def test_the_triggers_stand_after_all_migrations(table: str, verb: str) -> None:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT tgname FROM pg_trigger WHERE tgrelid = %s::regclass", [table])
        else:
            cursor.execute("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = %s", [table])
        names = {name for (name,) in cursor.fetchall()}
    assert f"{table}_final_no_{verb.lower()}" in names
