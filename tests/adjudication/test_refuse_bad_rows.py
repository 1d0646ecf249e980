"""Each constraint of adjudication refuses its bad row; every final row of the project refuses a change."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.apps import apps
from django.db import DatabaseError, IntegrityError, connection, models, transaction
from django.db.migrations.loader import MigrationLoader

from adjudication.models import (
    Consultation,
    CriticalRole,
    Decision,
    Dispute,
    Guess,
    OpenedArguments,
    ReferenceStandard,
    Rules,
    StandardLabel,
    StatedGap,
)
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
from monitoring.models import Attempt, Batch, Call, Inquiry, Monitor, Run, Verdict
from tests.adjudication.build import make_dispute, make_standard, settle
from tests.annotation.build import make_check_item
from tests.build import make_label, make_person, make_question, make_study, make_trace
from tests.verification.final_rows import FINAL as FINAL_OF_VERIFICATION

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def _bad_dispute(**fields: Any) -> Callable[[Study, User], Any]:
    def insert(study: Study, lead: User) -> Any:
        trace = make_trace(make_question(study))
        return Dispute.objects.create(**{"study": study, "trace": trace, "differs_in_step": True, **fields})

    return insert


def _second_standing_dispute(study: Study, lead: User) -> Any:
    dispute = make_dispute(study)
    return Dispute.objects.create(
        study=study, trace=dispute.trace, differs_in_step=True, status=Dispute.Status.DECIDED
    )


def _bad_decision(**fields: Any) -> Callable[[Study, User], Any]:
    def insert(study: Study, lead: User) -> Any:
        return Decision.objects.create(
            **{
                "dispute": make_dispute(study),
                "choice": "other",
                "final_correct": True,
                "rationale": "x",
                "decided_by": lead,
                **fields,
            }
        )

    return insert


def _second_revision_1(study: Study, lead: User) -> Any:
    decision = settle(make_dispute(study), lead)
    return Decision.objects.create(
        dispute=decision.dispute, choice="other", final_correct=True, rationale="x", decided_by=lead
    )


def _nameless_consultation(study: Study, lead: User) -> Any:
    return Consultation.objects.create(decision=settle(make_dispute(study), lead), who="")


def _bad_standard(**fields: Any) -> Callable[[Study, User], Any]:
    def insert(study: Study, lead: User) -> Any:
        first = make_standard(study)
        wanted = {name: first if value == "first" else value for name, value in fields.items()}
        return ReferenceStandard.objects.create(
            **{"study": study, "version": 2, "sha256": "0" * 64, **wanted}
        )

    return insert


def _bad_standard_label(**fields: Any) -> Callable[[Study, User], Any]:
    def insert(study: Study, lead: User) -> Any:
        standard = make_standard(study)
        trace = make_trace(make_question(study))
        return StandardLabel.objects.create(
            **{
                "standard": standard,
                "trace": trace,
                "status": "ready",
                "final_correct": True,
                "provenance": "x",
                **fields,
            }
        )

    return insert


def _second_standard_label(study: Study, lead: User) -> Any:
    label = make_standard(study).labels.get()
    return StandardLabel.objects.create(
        standard=label.standard, trace=label.trace, status="ready", final_correct=True, provenance="x"
    )


def _bad_role(**fields: Any) -> Callable[[Study, User], Any]:
    def insert(study: Study, lead: User) -> Any:
        trace = make_trace(make_question(study))
        CriticalRole.objects.create(trace=trace, kind="substantive")
        return CriticalRole.objects.create(**{"trace": trace, "kind": "substantive", **fields})

    return insert


def _second_gap(*, of_trace: bool) -> Callable[[Study, User], Any]:
    def insert(study: Study, lead: User) -> Any:
        trace = make_trace(make_question(study)) if of_trace else None
        StatedGap.objects.create(study=study, trace=trace, reason="x")
        return StatedGap.objects.create(study=study, trace=trace, reason="y")

    return insert


def _second_opening(study: Study, lead: User) -> Any:
    opened = OpenedArguments.objects.create(dispute=make_dispute(study), person=lead)
    return OpenedArguments.objects.create(dispute=opened.dispute, person=lead)


def _second_guess(study: Study, lead: User) -> Any:
    guess = Guess.objects.create(decision=settle(make_dispute(study), lead), person=lead, source="human")
    return Guess.objects.create(decision=guess.decision, person=lead, source="")


BAD: dict[str, list[Callable[[Study, User], Any]]] = {
    "one standing dispute per trace": [_second_standing_dispute],
    "a dispute differs in something or a rule sent it": [
        _bad_dispute(differs_in_step=False),
        _bad_dispute(differs_in_step=False, by_rule="whim"),
    ],
    "a dispute has one of three states": [_bad_dispute(status="lost")],
    "one decision per dispute and revision": [_second_revision_1],
    "a decision states its rationale": [_bad_decision(rationale="")],
    "a ruling says right or wrong, an undo says nothing": [
        _bad_decision(final_correct=None),
        _bad_decision(choice="undo"),
        _bad_decision(choice="unusable", final_correct=None, first_error_step=2),
        _bad_decision(choice="guess"),
    ],
    "decision step is null or at least 1": [_bad_decision(first_error_step=0)],
    "decision range holds its step": [
        _bad_decision(first_error_step=2, first_error_step_min=3, first_error_step_max=4),
        _bad_decision(first_error_step=5, first_error_step_min=3, first_error_step_max=4),
        _bad_decision(first_error_step_min=3, first_error_step_max=4),
        _bad_decision(first_error_step=2, first_error_step_min=0, first_error_step_max=2),
        _bad_decision(first_error_step=2, first_error_step_max=2),
        _bad_decision(first_error_step=2, first_error_step_min=2),
        _bad_decision(first_error_step_max=2),
    ],
    "a later decision supersedes an earlier one": [_bad_decision(revision=2)],
    "a consultation names whom it asked": [_nameless_consultation],
    "one standard per version": [_bad_standard(version=1)],
    "standards are counted from 1": [_bad_standard(version=0)],
    "a patched standard states its reason": [_bad_standard(parent="first")],
    "one standard label per trace": [_second_standard_label],
    "a ready label says whether the final answer is right": [_bad_standard_label(final_correct=None)],
    "a label that is not ready says why": [
        _bad_standard_label(status="excluded"),
        _bad_standard_label(status="unresolved"),
    ],
    "standard step is null or at least 1": [_bad_standard_label(first_error_step=0)],
    "standard range holds its step": [
        _bad_standard_label(first_error_step=2, first_error_step_min=3, first_error_step_max=4),
        _bad_standard_label(first_error_step_min=3, first_error_step_max=4),
        _bad_standard_label(first_error_step=2, first_error_step_max=2),
        _bad_standard_label(first_error_step=2, first_error_step_min=2),
        _bad_standard_label(first_error_step_min=2),
    ],
    "one critical role per trace and revision": [_bad_role()],
    "a critical role is one of four, or taken back": [
        _bad_role(kind="other", revision=2),
        lambda study, lead: CriticalRole.objects.create(trace=make_trace(make_question(study)), kind=""),
    ],
    "one-arm traces go by one of four rules": [
        lambda study, lead: Rules.objects.create(study=study, one_arm="some")
    ],
    "a sample is 1 to 100 percent": [
        lambda study, lead: Rules.objects.create(study=study, sample_percent=0),
        lambda study, lead: Rules.objects.create(study=study, sample_percent=101),
    ],
    "the debate is expected, not, or once it began": [
        lambda study, lead: Rules.objects.create(study=study, debate_expected="soon")
    ],
    "one stated gap per trace": [_second_gap(of_trace=True)],
    "one stated gap for a whole study": [_second_gap(of_trace=False)],
    "a stated gap says why": [lambda study, lead: StatedGap.objects.create(study=study, reason="")],
    "arguments are opened once per lead and dispute": [_second_opening],
    "one guess per decision and person": [_second_guess],
    "a guess is human, debate or none": [
        lambda study, lead: Guess.objects.create(
            decision=settle(make_dispute(study), lead), person=lead, source="both"
        )
    ],
}


def _named_constraints() -> list[str]:
    return [
        constraint.name
        for model in apps.get_app_config("adjudication").get_models()
        for constraint in model._meta.constraints
    ]


@pytest.mark.parametrize("name", _named_constraints())
def test_the_database_refuses_the_bad_row(study: Study, adam: User, name: str) -> None:
    for insert in BAD[name]:
        with pytest.raises(IntegrityError) as refused, transaction.atomic():
            insert(make_study(), adam)
        message = str(refused.value)
        if "CHECK" in message or connection.vendor == "postgresql":
            assert name in message


def test_every_named_constraint_has_its_bad_rows() -> None:
    assert set(BAD) == set(_named_constraints())


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
    "annotation_guidelineversion": lambda study, lead: GuidelineVersion.objects.create(
        study=study, version=1, text="x"
    ),
    "annotation_keyreport": lambda study, lead: KeyReport.objects.create(
        question=make_question(study), reporter=lead, reference_version=1, reason="x"
    ),
    "annotation_label": lambda study, lead: make_label(make_trace(make_question(study))),
    "annotation_pilotjudgement": lambda study, lead: PilotJudgement.objects.create(
        label=make_label(make_trace(make_question(study))), coherence="partly"
    ),
    "annotation_referenceanswer": lambda study, lead: make_question(study).reference_answers.get(),
    "annotation_trace": lambda study, lead: make_trace(make_question(study)),
    "core_auditentry": _audit_entry,
    "monitoring_attempt": _attempt,
    "monitoring_inquiry": lambda study, lead: Inquiry.objects.create(
        study=study,
        kind="debate",
        key="k",
        number=1,
        owner="w",
        model="m",
        started_at=NOW,
        finished_at=NOW,
    ),
    "monitoring_verdict": _verdict,
} | FINAL_OF_VERIFICATION


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


def test_the_person_who_decided_stays(study: Study) -> None:
    lead = make_person("lena")
    settle(make_dispute(study), lead)
    with pytest.raises(models.ProtectedError):
        lead.delete()
