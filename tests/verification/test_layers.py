"""The three layers: checks of rules, flags of models, the experts' queue, and what each may and may not do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, IntegrityError, transaction

from adjudication.services.assembly import assemble, freeze_preconditions
from adjudication.services.standards import freeze_standard
from annotation.models import Study, Trace
from core.errors import Conflict, UserError
from core.models import AuditEntry, User
from tests.adjudication.build import both, make_dispute, settle
from tests.build import make_person, make_question, make_trace
from tests.verification.build import NUMBER, OBLIGATIONS, make_item, record_execution, specify, write_lines
from verification import queries
from verification.models import CheckResult, ExpertItem, ExpertRuling, Flag, ObligationMapping
from verification.obligations import Cycle
from verification.services.checks import run_checks
from verification.services.evidence import BadEvidence, record_flags
from verification.services.experts import (
    InvalidRuling,
    put_back,
    rule_on_item,
    take_item,
    take_needed,
)
from verification.services.specifications import map_obligation

pytestmark = pytest.mark.django_db

PROGRAMME = {"h": [["2", "0"], ["0", "2"]], "c": ["0", "0"], "a": [["1", "1"]], "b": ["2"]}
LOPSIDED = {**PROGRAMME, "h": [["1", "2"], ["0", "1"]]}
PROOF = {"x": ["1", "1"], "value": "2", "nu": ["-2"]}


def trace_of(
    study: Study, answer: str = r"\boxed{10\ \mathrm{m}}", *, key: str = "10 m", **fields: Any
) -> Trace:
    steps = ["(1) $2 + 3 = 5$.", f"(2) So {answer}."]
    return make_trace(make_question(study, answer=key), steps=steps, **fields)


def results(trace: Trace) -> dict[str, CheckResult]:
    run_checks(traces=[trace])
    return {row.name: row for row in CheckResult.objects.filter(trace=trace)}


# -- layer 1 -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "status", "rejects"),
    [
        (r"\boxed{10.05\ \mathrm{m}}", "valid", False),
        (r"\boxed{11\ \mathrm{m}}", "failed", True),
        (r"\boxed{10}", "unresolved", False),
        ("ten metres", "unresolved", False),
    ],
)
def test_a_final_answer_is_compared_and_doubt_goes_to_a_person(
    study: Study, answer: str, status: str, rejects: bool
) -> None:
    trace = trace_of(study, answer)
    specify(trace.question, rules=[NUMBER])
    found = results(trace)["final answer"]
    assert (found.status, found.rejects, found.column) == (status, rejects, "correctness")
    assert found.reason


def test_a_false_equality_names_its_step(study: Study) -> None:
    trace = make_trace(make_question(study), steps=["(1) $2 + 2 = 4$.", "(2) $3 \\cdot 4 = 13$."])
    found = results(trace)["equalities"]
    assert (found.status, found.step, found.rejects) == ("failed", 2, False)


def test_a_deliverable_must_stand_in_the_text(study: Study) -> None:
    trace = trace_of(study)
    rules = [
        {"name": "there", "kind": "deliverable", "spec": {"any_of": ["2 + 3", "else"]}},
        {"name": "lacking", "kind": "deliverable", "spec": {"any_of": ["free-body diagram"]}},
    ]
    specify(trace.question, rules=rules)
    found = results(trace)
    assert (found["there"].status, found["lacking"].status) == ("valid", "failed")
    assert found["lacking"].rejects and found["lacking"].column == "compliance"


@pytest.mark.parametrize(
    ("certificate", "status"),
    [
        (PROOF, "valid"),
        ({"x": ["1", "1"], "value": "2"}, "valid"),
        ({**PROOF, "nu": ["3"]}, "failed"),
        ({**PROOF, "value": "3"}, "failed"),
        ({"x": ["2", "0"], "value": "4"}, "failed"),
        ({"x": ["1"], "value": "2"}, "failed"),
    ],
)
def test_a_certificate_is_verified_exactly(
    study: Study, tmp_path: Path, certificate: dict[str, Any], status: str
) -> None:
    trace = trace_of(study)
    specify(
        trace.question, rules=[{"name": "proof", "kind": "certificate", "spec": {"programme": PROGRAMME}}]
    )
    assert results(trace)["proof"].status == "unverified"
    imported(study, tmp_path, row("certificate", trace, programme=PROGRAMME, certificate=certificate))
    found = results(trace)["proof"]
    assert found.status == status, found.reason


def test_a_certificate_of_another_programme_proves_nothing(study: Study, tmp_path: Path) -> None:
    trace = trace_of(study)
    wanted = {**PROGRAMME, "b": ["4"]}
    specify(trace.question, rules=[{"name": "proof", "kind": "certificate", "spec": {"programme": wanted}}])
    imported(study, tmp_path, row("certificate", trace, programme=PROGRAMME, certificate=PROOF))
    assert results(trace)["proof"].status == "failed"


def test_a_hard_limit_rejects_only_if_it_was_set_before_the_trace_came(study: Study) -> None:
    question = make_question(study)
    late = make_trace(question)
    specify(question, limits={"max_calls": 1}, tools=["python"])
    early = make_trace(question)
    for trace in (late, early):
        record_execution(trace, calls=[{"tool": "python"}, {"tool": "web"}], elapsed_seconds=3)
    found = results(early)
    assert found["hard limits"].rejects and found["permitted tools"].rejects
    assert found["hard limits"].column == "compliance"
    found = results(late)
    assert not any(row.rejects or row.column == "compliance" for row in found.values())
    assert found["hard limits (set after this trace came)"].column == "efficiency"


def test_without_an_execution_record_limits_are_unverified(study: Study) -> None:
    question = make_question(study)
    specify(question, limits={"max_seconds": 60}, environments=["sandbox"])
    found = results(make_trace(question))
    assert {found["hard limits"].status, found["permitted tools"].status} == {"unverified"}


def test_inefficiency_is_noted_apart_and_never_rejects(study: Study) -> None:
    trace = trace_of(study)
    record_execution(trace, calls=[{"tool": "python", "arguments": "1"}] * 3)
    found = results(trace)["use of resources"]
    assert (found.column, found.status, found.rejects) == ("efficiency", "failed", False)
    assert "3 times" in found.reason


def test_running_the_checks_again_replaces_their_results(study: Study) -> None:
    trace = trace_of(study)
    results(trace)
    specify(trace.question, rules=[NUMBER])
    assert set(results(trace)) == {"equalities", "final answer"}


# -- layer 2 -----------------------------------------------------------------------------------------------


def flag(**fields: Any) -> dict[str, Any]:
    return {"kind": "gap", "concern": "Why may the limit be taken first?", "step": 1, **fields}


def test_flags_are_recorded_once_and_change_no_status(study: Study) -> None:
    trace = trace_of(study)
    before_flag = {name: one.status for name, one in results(trace).items()}
    assert (
        len(record_flags(trace=trace, flags=[flag(), flag(step=None, value="2 + 3")], raised_by="m/v1")) == 2
    )
    assert record_flags(trace=trace, flags=[flag()], raised_by="m/v1") == []
    assert {name: one.status for name, one in results(trace).items()} == before_flag


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"step": None}, "exactly one"),
        ({"call": 1}, "exactly one"),
        ({"step": 9}, "no step 9"),
        ({"step": None, "call": 1}, "no recorded tool call"),
        ({"step": None, "value": "absent"}, "does not stand"),
        ({"kind": "verdict"}, "no kind of flag"),
        ({"concern": " "}, "states its concern"),
        ({"has_error": True}, "no field"),
    ],
)
def test_a_flag_without_its_tie_is_refused_and_nothing_is_kept(
    study: Study, change: dict[str, Any], words: str
) -> None:
    trace = trace_of(study)
    with pytest.raises(BadEvidence, match=words):
        record_flags(trace=trace, flags=[flag(concern="first"), flag(**change)], raised_by="m/v1")
    assert not Flag.objects.exists()


# -- layer 3 -----------------------------------------------------------------------------------------------


@pytest.fixture
def labelled(study: Study) -> Trace:
    trace = trace_of(study)
    both(trace, (True, None), (True, None))
    return trace


def draft_of(trace: Trace) -> tuple[str, str]:
    (draft,) = [one for one in assemble(trace.study) if one.trace_id == trace.pk]
    return draft.row.status, draft.row.status_reason


def test_what_an_expert_leaves_open_has_no_settled_label(labelled: Trace, adam: User) -> None:
    assert draft_of(labelled) == ("ready", "")
    item = make_item(labelled)
    assert draft_of(labelled)[0] == "unresolved"
    take_item(item=item, expert=adam)
    rule_on_item(item=item, expert=adam, outcome="unresolved", reason="The bound is not uniform.")
    assert draft_of(labelled) == ("unresolved", "left open by an expert: The bound is not uniform.")
    assert any(one.name == "waiting for an expert" for one in freeze_preconditions(labelled.study))
    take_item(item=item, expert=adam)
    rule_on_item(item=item, expert=adam, outcome="valid", reason="It is, by dominated convergence.")
    assert draft_of(labelled) == ("ready", "")
    assert [one.outcome for one in item.rulings.all()] == ["unresolved", "valid"]


def test_a_hold_hides_a_patched_label_and_does_not_undo_it(labelled: Trace, study: Study, adam: User) -> None:
    both(make_trace(make_question(study)), (True, None), (True, None))
    freeze_standard(study=study)
    name = f"{labelled.question.external_id}/{labelled.response_label}"
    call_command(
        "patch_standard", "--study", study.slug, "--from", "1",
        "--set", f"{name}:final_correct=0,first_error_step=2", "--reason", "A slip.",
    )  # fmt: skip
    item = make_item(labelled)
    assert freeze_standard(study=study).standard.version == 3
    assert draft_of(labelled)[0] == "unresolved"
    take_item(item=item, expert=adam)
    rule_on_item(item=item, expert=adam, outcome="failed", step=2, reason="The patch is right.")
    (draft,) = [one for one in assemble(study) if one.trace_id == labelled.pk]
    assert (draft.row.status, draft.row.provenance, draft.row.first_error_step) == ("ready", "patched", 2)


def test_one_expert_has_an_item_at_a_time(labelled: Trace, study: Study, adam: User) -> None:
    item = make_item(labelled)
    other = make_person(study=study)
    with pytest.raises(Conflict, match="queue already"):
        make_item(labelled)
    take_item(item=item, expert=adam)
    take_item(item=item, expert=adam)
    with pytest.raises(Conflict, match="has taken"):
        take_item(item=item, expert=other)
    with pytest.raises(Conflict, match="Take the item first"):
        rule_on_item(item=item, expert=other, outcome="valid", reason="x")
    with pytest.raises(Conflict):
        put_back(item=item, expert=other)
    put_back(item=item, expert=adam)
    take_item(item=item, expert=other)
    rule_on_item(item=item, expert=other, outcome="failed", step=2, reason="The sign is lost.")
    with pytest.raises(Conflict, match="settled"):
        take_item(item=item, expert=adam)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"reason": " "}, "say why"),
        ({"outcome": "maybe"}, "valid, fails, or stays open"),
        ({"outcome": "valid", "step": 1}, "only where it fails"),
        ({"outcome": "failed", "step": 99}, "from 1 to"),
    ],
)
def test_a_ruling_that_lacks_something_is_refused(
    labelled: Trace, adam: User, fields: dict[str, Any], words: str
) -> None:
    item = make_item(labelled)
    take_item(item=item, expert=adam)
    with pytest.raises(InvalidRuling, match=words):
        rule_on_item(**{"item": item, "expert": adam, "outcome": "failed", "reason": "x", **fields})


def test_what_a_check_cannot_decide_is_before_the_experts_until_one_rules(study: Study, adam: User) -> None:
    trace = trace_of(study, r"\boxed{10}")
    both(trace, (True, None), (True, None))
    specify(trace.question, rules=[NUMBER])
    assert queries.needing_experts(study) == []
    run_checks(traces=[trace])
    ((found, needs),) = queries.needing_experts(study)
    assert found == trace.pk and "no unit" in needs[0].why
    assert "no unit" in assemble(study)[0].row.status_reason
    item = take_needed(trace=trace, expert=adam)
    assert (item.state, item.taken_by, item.reason) == ("taken", adam, needs[0].why)
    assert queries.needing_experts(study) == []
    with pytest.raises(Conflict):
        take_needed(trace=trace, expert=adam)
    rule_on_item(item=item, expert=adam, outcome="valid", reason="The unit is plain.")
    run_checks(traces=[trace])
    assert queries.needing_experts(study) == [] and assemble(study)[0].row.status == "ready"


def test_what_checks_decide_later_leaves_the_queue_by_itself(study: Study) -> None:
    trace = trace_of(study, r"\boxed{10}")
    specify(trace.question, rules=[NUMBER])
    run_checks(traces=[trace])
    specify(trace.question, rules=[{**NUMBER, "spec": {**NUMBER["spec"], "unit": "optional"}}])
    run_checks(traces=[trace])
    assert queries.needing_experts(study) == []


def test_obligations_left_unresolved_and_concerns_call_for_an_expert(study: Study, adam: User) -> None:
    trace = trace_of(study)
    both(trace, (True, None), (True, None))
    specify(trace.question, obligations=OBLIGATIONS)
    record_flags(trace=trace, flags=[flag()], raised_by="m")
    assert assemble(study)[0].row.status == "ready", "a concern alone holds nothing up"
    fields = {"trace": trace, "obligation": "forces", "steps": [1], "author": adam}
    map_obligation(**fields, status="unresolved", reason="Is friction in it?")
    assert [need.why for need in queries.needs_of(trace)] == [
        "obligation forces: Is friction in it?",
        "1 concern raised by models",
    ]
    assert assemble(study)[0].row.status == "unresolved"
    item = take_needed(trace=trace, expert=adam)
    rule_on_item(item=item, expert=adam, outcome="valid", reason="Friction is in it.")
    assert queries.needs_of(trace) == []
    record_flags(trace=trace, flags=[flag(concern="Another.")], raised_by="m")
    assert [need.why for need in queries.needs_of(trace)] == ["1 concern raised by models"]


@pytest.mark.parametrize("exchanged", [False, True])
def test_a_dispute_is_before_the_experts_until_it_is_decided(
    study: Study, adam: User, exchanged: bool
) -> None:
    first, second = (True, 2), (False, 4)
    if exchanged:
        first, second = second, first
    dispute = make_dispute(study, human=first, debate=second)
    ((trace_id, (need,)),) = queries.needing_experts(study)
    assert trace_id == dispute.trace_id and dispute.token in need.address
    assert need.why == "disputed: the labels differ in the answer and in the step"
    settle(dispute, adam)
    assert queries.needing_experts(study) == []


# -- specifications, mappings, import -------------------------------------------------------------------------


def row(kind: str, trace: Trace, **fields: Any) -> dict[str, Any]:
    of_trace = {} if kind == "specification" else {"response_label": trace.response_label}
    return {"kind": kind, "question_id": trace.question.external_id, **of_trace, **fields}


def imported(study: Study, folder: Path, *rows: dict[str, Any], **options: Any) -> None:
    path = write_lines(folder / "evidence.jsonl", *rows)
    call_command("import_evidence", str(path), study=study.slug, **options)


def test_evidence_is_imported_whole_and_once(study: Study, tmp_path: Path) -> None:
    trace = trace_of(study)
    rows = [
        row("mapping", trace, obligation="forces", steps=[1], status="valid"),
        row("flag", trace, flag="gap", concern="Why?", call=1, raised_by="m/v1"),
        row("execution", trace, calls=[{"tool": "python"}]),
        row("specification", trace, obligations=OBLIGATIONS, rules=[NUMBER]),
    ]
    imported(study, tmp_path, *rows)
    entries = AuditEntry.objects.count()
    imported(study, tmp_path, *rows)
    assert AuditEntry.objects.count() == entries
    specification = queries.specification_of(trace.question)
    assert specification is not None and specification.version == 1
    assert queries.mappings_of(trace, specification)["forces"].steps == [1]
    assert trace.flags.count() == 1


def test_a_bad_row_stops_the_whole_file_with_its_line(study: Study, tmp_path: Path) -> None:
    trace = trace_of(study)
    circle = [{"id": "a", "text": "t", "needs": ["b"]}, {"id": "b", "text": "t", "needs": ["a"]}]
    with pytest.raises(CommandError) as caught:
        imported(
            study,
            tmp_path,
            row("execution", trace, calls=[]),
            row("specification", trace, obligations=circle),
            row("verdict", trace),
            row("mapping", trace, obligation="a", steps=[1], status="valid"),
            {"kind": "flag", "question_id": "nowhere", "response_label": "x"},
        )
    text = str(caught.value)
    assert "evidence.jsonl:2: the obligations need each other in a circle: a -> b -> a" in text
    assert "evidence.jsonl:3:" in text and "evidence.jsonl:4:" in text and 'no question "nowhere"' in text
    assert not hasattr(Trace.objects.get(pk=trace.pk), "execution")


def test_a_dry_run_writes_nothing(study: Study, tmp_path: Path) -> None:
    trace = trace_of(study)
    imported(study, tmp_path, row("execution", trace, calls=[]), dry_run=True)
    assert not hasattr(Trace.objects.get(pk=trace.pk), "execution")


def test_records_are_final_and_mappings_change_only_when_told(study: Study, tmp_path: Path) -> None:
    trace = trace_of(study)
    mapping = row("mapping", trace, obligation="forces", steps=[1], status="valid")
    imported(
        study,
        tmp_path,
        row("execution", trace, calls=[]),
        row("specification", trace, obligations=OBLIGATIONS),
        mapping,
    )
    with pytest.raises(CommandError, match="another execution record"):
        imported(study, tmp_path, row("execution", trace, calls=[{"tool": "x"}]))
    with pytest.raises(CommandError, match="mapped otherwise"):
        imported(study, tmp_path, {**mapping, "status": "unresolved"})
    imported(study, tmp_path, {**mapping, "status": "unresolved"}, revise=True)
    assert [one.status for one in ObligationMapping.objects.order_by("revision")] == ["valid", "unresolved"]


def test_the_documented_file_is_imported(study: Study, tmp_path: Path) -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "verification.md").read_text(encoding="utf-8")
    example = text.split("```jsonl evidence\n")[1].split("```")[0]
    question = make_question(study, external_id="spring-1", answer="10 rad/s")
    make_trace(question, response_label="Response A", steps=["(1) The restoring force is $-kx$.", "(2) So."])
    path = tmp_path / "evidence.jsonl"
    path.write_text(example, encoding="utf-8")
    call_command("import_evidence", str(path), study=study.slug)
    kinds = {json.loads(line)["kind"] for line in example.splitlines()}
    assert kinds == {"specification", "execution", "certificate", "mapping", "flag"}


def test_a_specification_gets_a_new_version_when_it_changes(study: Study) -> None:
    question = make_question(study)
    assert [specify(question, target="a").version, specify(question, target="b").version] == [1, 2]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"limits": {"max_words": 3}}, "no limit"),
        ({"limits": {"max_calls": -1}}, "not negative"),
        ({"tools": "python"}, "list of texts"),
        ({"rules": [{"name": "a", "kind": "odd"}]}, "must be one of"),
        ({"rules": [NUMBER, NUMBER]}, "same name"),
        ({"rules": [{"name": "a", "kind": "deliverable", "spec": {}}]}, "any_of"),
        (
            {"rules": [{"name": "a", "kind": "certificate", "spec": {"programme": LOPSIDED}}]},
            "not symmetric",
        ),
        ({"obligations": [{"id": "a", "text": "t", "needs": ["a"]}]}, "a -> a"),
    ],
)  # fmt: skip
def test_a_bad_specification_says_what_and_where(study: Study, data: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        specify(make_question(study), **data)


def test_a_cycle_is_an_error_of_its_own_kind(study: Study) -> None:
    with pytest.raises(Cycle):
        specify(make_question(study), obligations=[{"id": "a", "text": "t", "needs": ["a"]}])


def test_mapping_by_hand_supersedes_and_is_audited(study: Study, adam: User) -> None:
    trace = trace_of(study)
    specify(trace.question, obligations=OBLIGATIONS)
    fields = {"trace": trace, "obligation": "forces", "steps": [1], "reason": "", "author": adam}
    map_obligation(**fields, status="valid")
    assert map_obligation(**fields, status="valid") is None
    with pytest.raises(UserError, match="say why"):
        map_obligation(**fields, status="failed")
    map_obligation(**{**fields, "reason": "Friction is missing."}, status="failed")
    assert AuditEntry.objects.filter(action="obligation mapped").count() == 2


def test_verify_traces_runs_everything_and_queues_what_is_undecided(study: Study, capsys: Any) -> None:
    trace = trace_of(study, r"\boxed{10}")
    specify(trace.question, rules=[NUMBER])
    call_command("verify_traces", study=study.slug, json="-")
    report = json.loads(capsys.readouterr().out)
    assert (report["traces"], report["queued"]) == (1, 1)
    with pytest.raises(CommandError, match="no study named"):
        call_command("verify_traces", study="nowhere")


# -- the database -------------------------------------------------------------------------------------------------


def test_final_rows_refuse_changes(labelled: Trace, adam: User) -> None:
    specify(labelled.question, obligations=OBLIGATIONS)
    record_execution(labelled, calls=[])
    record_flags(trace=labelled, flags=[flag()], raised_by="m/v1")
    map_obligation(trace=labelled, obligation="forces", steps=[1], status="valid", reason="", author=adam)
    item = make_item(labelled)
    take_item(item=item, expert=adam)
    ruling = rule_on_item(item=item, expert=adam, outcome="unresolved", reason="open")
    rows: list[Any] = [queries.specification_of(labelled.question), labelled.execution, ruling]
    rows += [Flag.objects.get(), ObligationMapping.objects.get()]
    for one in rows:
        with pytest.raises(DatabaseError), transaction.atomic():
            one.delete()
        with pytest.raises(DatabaseError), transaction.atomic():
            one.save()


@pytest.mark.parametrize(
    ("model", "fields"),
    [
        (Flag, {"kind": "gap", "concern": "x", "step": 1, "call": 1}),
        (Flag, {"kind": "gap", "concern": "x"}),
        (Flag, {"kind": "gap", "concern": "", "step": 1}),
        (Flag, {"kind": "odd", "concern": "x", "step": 1}),
        (CheckResult, {"name": "n", "column": "style", "status": "valid", "reason": "x"}),
        (CheckResult, {"name": "n", "column": "efficiency", "status": "good", "reason": "x"}),
        (
            CheckResult,
            {"name": "n", "column": "efficiency", "status": "valid", "reason": "x", "rejects": True},
        ),
        (CheckResult, {"name": "n", "column": "efficiency", "status": "valid", "reason": ""}),
    ],
)
def test_the_database_refuses_bad_rows(labelled: Trace, model: Any, fields: dict[str, Any]) -> None:
    more = {"raised_by": "m", "fingerprint": "f"} if model is Flag else {}
    with pytest.raises(IntegrityError), transaction.atomic():
        model.objects.create(trace=labelled, **fields, **more)


def test_the_database_refuses_bad_items_and_rulings(labelled: Trace, study: Study, adam: User) -> None:
    for fields in ({"reason": ""}, {"reason": "x", "state": "odd"}, {"reason": "x", "state": "taken"}):
        with pytest.raises(IntegrityError), transaction.atomic():
            ExpertItem.objects.create(study=study, trace=labelled, **fields)
    item = make_item(labelled)
    for fields in ({"outcome": "valid", "step": 1}, {"outcome": "odd"}, {"outcome": "failed", "step": 0}):
        with pytest.raises(IntegrityError), transaction.atomic():
            ExpertRuling.objects.create(item=item, expert=adam, reason="x", **fields)
