"""Training: worked examples, the gate, hidden items in the queue; none of it counts in anything else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from adjudication.services.assembly import assemble
from adjudication.services.disputes import recompute_disputes
from annotation import arm, blindness, queries, training
from annotation.exports.labels import label_rows
from annotation.imports.checks import import_checks
from annotation.models import CheckItem, GateAnswer, GateResult, Label, Role, Study, Trace
from annotation.services import tally
from annotation.services.labels import InvalidLabel, submit_label
from annotation.services.queue import claim_next, skip_trace
from annotation.services.training import GateNotPassed, InvalidGateAnswer, answer_gate, require_gate, set_plan
from core.errors import Conflict, ImportRefused, UserError
from core.models import AuditEntry, User
from tests.annotation.build import make_check_item, make_traces
from tests.annotation.files import write_lines
from tests.build import make_label, make_person, make_question, make_trace

pytestmark = pytest.mark.django_db


def judge(item: CheckItem, person: User, *, right: bool, attempt: int = 1) -> GateAnswer:
    return answer_gate(
        item=item,
        person=person,
        attempt=attempt,
        final_correct=not right,
        first_error_step=2 if right else None,
    )


# ---- the gate ------------------------------------------------------------------------------------------


def test_a_gate_is_passed_by_both_marks_and_stays_passed(study: Study, ana: User) -> None:
    items = [make_check_item(study) for _ in range(4)]
    set_plan(study=study, answer_mark=75, step_mark=75, attempts=2)
    assert not training.may_read(study, ana)
    for number, item in enumerate(items):
        assert training.gate_of(study, ana).next_item == item
        judge(item, ana, right=number > 0)
    (result,) = training.gate_of(study, ana).results
    assert (result.items, result.answers_right, result.steps_right, result.passed) == (4, 3, 3, True)
    assert AuditEntry.objects.get(action="gate passed").payload["attempt"] == 1
    make_check_item(study)
    assert training.may_read(study, ana), "an item added later asks nothing of those who have passed"
    with pytest.raises(InvalidGateAnswer, match="you have passed"):
        judge(CheckItem.objects.latest("pk"), ana, right=True)


def test_one_mark_alone_does_not_pass(study: Study, ana: User) -> None:
    item = make_check_item(study)
    answer_gate(item=item, person=ana, attempt=1, final_correct=False, first_error_step=3)
    (result,) = training.gate_of(study, ana).results
    assert (result.answers_right, result.steps_right, result.passed) == (1, 0, False)
    assert not training.may_read(study, ana)


def test_attempts_come_to_an_end_and_can_be_added(study: Study, ana: User) -> None:
    items = [make_check_item(study) for _ in range(2)]
    set_plan(study=study, answer_mark=100, step_mark=100, attempts=2)
    for attempt in (1, 2):
        for item in items:
            judge(item, ana, right=False, attempt=attempt)
    gate = training.gate_of(study, ana)
    assert gate.exhausted
    assert gate.next_item is None
    with pytest.raises(InvalidGateAnswer, match="no attempt is left"):
        judge(items[0], ana, right=True, attempt=3)
    set_plan(study=study, answer_mark=100, step_mark=100, attempts=3)
    for item in items:
        judge(item, ana, right=True, attempt=3)
    assert training.may_read(study, ana)


def test_a_judgement_at_the_gate_stands(study: Study, ana: User) -> None:
    item, _ = make_check_item(study), make_check_item(study)
    first = judge(item, ana, right=False)
    assert judge(item, ana, right=False) == first
    with pytest.raises(Conflict, match="what you said first stands"):
        judge(item, ana, right=True)
    with pytest.raises(Conflict, match="attempt"):
        judge(CheckItem.objects.latest("pk"), ana, right=True, attempt=2)
    with pytest.raises(InvalidGateAnswer, match="step 9"):
        answer_gate(item=item, person=ana, attempt=1, final_correct=True, first_error_step=9)
    for rows in (GateAnswer.objects.all(), GateResult.objects.all()):
        if rows.exists():
            with pytest.raises(DatabaseError), transaction.atomic():
                rows.update(attempt=7)


def test_a_range_of_steps_may_be_expected(study: Study) -> None:
    item = make_check_item(study, first_error_step_min=2, first_error_step_max=3)
    assert [item.step_is_right(step) for step in (None, 1, 2, 3, 4)] == [False, False, True, True, False]
    clean = make_check_item(study, step=None)
    assert [clean.step_is_right(step) for step in (None, 1)] == [True, False]


def test_nothing_is_read_before_the_gate(client: Client, study: Study, ana: User) -> None:
    make_traces(study, 2)
    item = make_check_item(study)
    with pytest.raises(GateNotPassed):
        require_gate(study=study, person=ana)
    assert claim_next(study=study, person=ana) is None
    client.force_login(ana)
    response = client.post(reverse("queue_next", args=[study.slug]))
    assert response.status_code == 302
    assert response["Location"] == reverse("training", args=[study.slug])
    assert "Training to pass first" in client.get(reverse("home")).content.decode()
    judge(item, ana, right=True)
    assert claim_next(study=study, person=ana) is not None
    assert "2 traces to read" in client.get(reverse("home")).content.decode()


def test_the_gate_is_walked_through_with_feedback(client: Client, study: Study, ana: User) -> None:
    first, second = make_check_item(study), make_check_item(study, step=None)
    client.force_login(ana)
    page = client.get(reverse("training", args=[study.slug])).content.decode()
    assert "Begin</a>" in page
    assert client.get(reverse("gate_item", args=[study.slug, second.trace.token]))["Location"] == reverse(
        "gate", args=[study.slug]
    ), "the second is not shown before the first is judged"
    address = client.get(reverse("gate", args=[study.slug]))["Location"]
    assert address == reverse("gate_item", args=[study.slug, first.trace.token])
    page = client.get(address).content.decode()
    assert "Solution 1 of 2" in page
    assert "the sign is lost" not in page
    assert "is-first-false" not in page
    refused = client.post(address, {"attempt": "1", "final": "right"})
    assert refused.status_code == 422
    assert b"Choose the first false step" in refused.content
    assert (
        client.post(
            address, {"attempt": "1", "final": "wrong", "first_error": "step", "step": "9"}
        ).status_code
        == 422
    )
    response = client.post(address, {"attempt": "1", "final": "wrong", "first_error": "step", "step": "3"})
    assert response["Location"] == address
    page = client.get(address).content.decode()
    assert "you said wrong, as expected" in page
    assert "you said step 3; expected was step 2" in page
    assert "the sign is lost" in page
    assert "Next solution" in page
    address = client.get(reverse("gate", args=[study.slug]))["Location"]
    client.post(address, {"attempt": "1", "final": "right", "first_error": "none"})
    assert "See the result" in client.get(address).content.decode()
    page = client.get(reverse("training", args=[study.slug])).content.decode()
    assert "2 of 2" in page
    assert "1 of 2" in page
    assert "Try again" in page


def test_the_training_pages_have_their_gates(
    client: Client, study: Study, ana: User, adam: User, olga: User, eve: User
) -> None:
    worked, item, hidden = (
        make_check_item(study, "worked"),
        make_check_item(study),
        make_check_item(study, "hidden"),
    )
    address = reverse("training", args=[study.slug])
    for person, status in ((ana, 200), (adam, 200), (olga, 200), (eve, 404)):
        client.force_login(person)
        assert client.get(address).status_code == status
    for token, statuses in ((item.trace.token, (302, 403, 404)), (hidden.trace.token, (404, 403, 404))):
        for person, status in zip((ana, adam, eve), statuses, strict=True):
            client.force_login(person)
            wanted = 200 if status == 302 else status
            assert client.get(reverse("gate_item", args=[study.slug, token])).status_code == wanted
    judge(item, ana, right=True)
    client.force_login(olga)
    page = client.get(address).content.decode()
    assert "1 worked example, 1 at the gate, 1 hidden in the queue" in page
    assert "✓ passed" in page
    client.force_login(ana)
    page = client.get(address).content.decode()
    assert "hidden in the queue" not in page
    assert "is-first-false" in page
    assert hidden.trace.token not in page
    assert worked.explanation in page


# ---- hidden items --------------------------------------------------------------------------------------


@pytest.fixture
def queue(study: Study) -> tuple[list[Trace], list[CheckItem]]:
    return make_traces(study, 6), [make_check_item(study, "hidden") for _ in range(3)]


def read_all(study: Study, person: User) -> list[Trace]:
    read = []
    while (trace := claim_next(study=study, person=person)) is not None:
        submit_label(trace=trace, person=person, final_correct=False, first_error_step=2)
        read.append(trace)
    return read


def test_hidden_items_come_along_whoever_has_judged_them(
    study: Study, ana: User, queue: tuple[list[Trace], list[CheckItem]]
) -> None:
    traces, items = queue
    hidden = {item.trace for item in items}
    bo = make_person("bo", study=study, roles=[Role.ANNOTATOR])
    # Where an item comes is drawn per person, and in so short a queue some meet none: enough people meet one.
    more = [make_person(f"reader{number}", study=study, roles=[Role.ANNOTATOR]) for number in range(12)]
    study.overlap = 2 + len(more)
    study.save()
    tally.refresh(study)
    mine, others = read_all(study, ana), read_all(study, bo)
    third = [trace for person in more for trace in read_all(study, person)]
    for read in (mine, others):
        assert set(read) >= set(traces)
        assert len(set(read)) == len(read)
        assert read[-1] not in hidden, "a hidden item alone is no reason to go on"
    assert {*mine, *others, *third} & hidden
    results = training.hidden_results(study)
    assert results["ana"].judged == len(set(mine) & hidden)
    assert results["ana"].answers_right == results["ana"].steps_right == results["ana"].judged


def test_a_skipped_hidden_item_does_not_come_again(
    study: Study, ana: User, queue: tuple[list[Trace], list[CheckItem]]
) -> None:
    for item in queue[1]:
        skip_trace(trace=item.trace, person=ana, reason="not my field")
    assert set(read_all(study, ana)) == set(queue[0])
    assert queries.progress(study, ana).skipped == 0
    assert tally.verify(study) == []


def test_checks_count_in_nothing_else(
    study: Study, ana: User, adam: User, queue: tuple[list[Trace], list[CheckItem]]
) -> None:
    traces, items = queue
    before = queries.progress(study, ana)
    assert (before.total, before.left) == (6, 6)
    for item in items:
        make_label(item.trace, person=ana, first_error_step=2, final_correct=False, comment="spotted")
        make_label(item.trace, labeller="bo", final_correct=True)
    assert queries.progress(study, ana) == before
    assert queries.trace_size(study)["included"] == 6
    assert queries.arm_size(study, Label.Arm.HUMAN) == 0
    assert (arm.coverage(study).traces, arm.coverage(study).labels) == (6, 0)
    assert arm.agreement(study).pairs == []
    assert not arm.comments(study, adam).exists()
    assert not blindness.unsettled(study).exists()
    assert {draft.trace_id for draft in assemble(study)} == {trace.pk for trace in traces}
    summary = recompute_disputes(study=study)
    assert (summary.opened, summary.unlabelled) == (0, 6)
    assert list(label_rows(study)) == []
    assert len(list(label_rows(study, checks=True))) == 6
    (mine, other) = arm.people(study)
    assert (mine.labels, mine.checks) == (0, training.HiddenResult(3, 3, 3))
    assert other.checks == training.HiddenResult(3, 0, 0) if other.name == "bo" else other.checks is None


def test_the_first_word_on_a_hidden_item_counts(study: Study) -> None:
    item = make_check_item(study, "hidden")
    first = make_label(item.trace, first_error_step=3)
    make_label(item.trace, first_error_step=2, final_correct=False, revision=2, supersedes=first)
    assert training.hidden_results(study) == {"ana": training.HiddenResult(1, 0, 0)}


@pytest.mark.parametrize("kind", ["worked", "gate"])
def test_training_solutions_are_not_labelled(study: Study, ana: User, kind: str) -> None:
    item = make_check_item(study, kind)
    with pytest.raises(InvalidLabel, match="belongs to the training"):
        submit_label(trace=item.trace, person=ana, final_correct=True, first_error_step=None)


# ---- setting them up -----------------------------------------------------------------------------------


def row(label: str = "A", **fields: Any) -> dict[str, Any]:
    return {
        "question_id": "q1",
        "response_label": f"Response {label}",
        "kind": "gate",
        "final_correct": False,
        "first_error_step": 2,
        "explanation": "the sign is lost",
        **fields,
    }


@pytest.fixture
def lettered(study: Study) -> list[Trace]:
    question = make_question(study, external_id="q1")
    return [make_trace(question, n_steps=4, response_label=f"Response {letter}") for letter in "ABCD"]


def test_items_come_from_a_file(lettered: list[Trace], tmp_path: Path, capsys: Any) -> None:
    path = write_lines(
        tmp_path / "checks.jsonl",
        row("A"),
        row("B", kind="worked", first_error_step=None, final_correct=True),
        row("C", kind="hidden", explanation="", first_error_step_min=1, first_error_step_max=3),
        row("D"),
    )
    call_command("import_checks", str(path), study="optics", answer_mark=90, json=str(tmp_path / "r.json"))
    out = capsys.readouterr().out
    assert "check items new: 2 gate, 1 hidden, 1 worked" in out
    assert "the gate: 90% of final answers and 60% of steps right, 3 attempts" in out
    assert json.loads((tmp_path / "r.json").read_text())["new"] == {"gate": 2, "worked": 1, "hidden": 1}
    assert [item.trace.response_label for item in CheckItem.objects.filter(kind="gate")] == [
        "Response A",
        "Response D",
    ]
    hidden = CheckItem.objects.get(kind="hidden")
    assert (hidden.first_error_step_min, hidden.first_error_step_max) == (1, 3)
    assert AuditEntry.objects.filter(action="check items imported").count() == 1
    again = import_checks(path=path, study_slug="optics")
    assert (again.new.total(), again.same) == (0, 4)
    assert AuditEntry.objects.filter(action="check items imported").count() == 1


def test_an_item_changes_only_on_request_and_before_it_is_judged(
    lettered: list[Trace], ana: User, tmp_path: Path
) -> None:
    path = write_lines(tmp_path / "a.jsonl", row("A"))
    import_checks(path=path, study_slug="optics")
    changed = write_lines(tmp_path / "b.jsonl", row("A", first_error_step=3))
    with pytest.raises(ImportRefused, match="--replace"):
        import_checks(path=changed, study_slug="optics")
    assert import_checks(path=changed, study_slug="optics", replace=True).replaced == 1
    judge(CheckItem.objects.get(), ana, right=True)
    with pytest.raises(ImportRefused, match="is judged already"):
        import_checks(path=path, study_slug="optics", replace=True)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"kind": "odd"}, '"kind" is "odd"'),
        ({"explanation": ""}, '"explanation" is missing'),
        ({"first_error_step": 5}, '"first_error_step" is 5, past the end'),
        ({"first_error_step_min": 3, "first_error_step_max": 4}, "does not hold"),
        ({"response_label": "Response Z"}, 'no trace "q1/Response Z"'),
        ({"response_label": "Response B"}, "has labels already"),
        ({"extra": 1}, "unknown field"),
    ],
)
def test_bad_rows_are_refused(
    lettered: list[Trace], tmp_path: Path, fields: dict[str, Any], reason: str
) -> None:
    make_label(lettered[1])
    path = write_lines(tmp_path / "a.jsonl", row("D"), row("A", **fields))
    with pytest.raises(ImportRefused) as refused:
        import_checks(path=path, study_slug="optics")
    ((line, found),) = [(bad.line, bad.reason) for bad in refused.value.rows]
    assert line == 2
    assert reason in found
    assert not CheckItem.objects.exists()
    with pytest.raises(CommandError):
        call_command("import_checks", str(path), study="optics", dry_run=True)


def test_an_administrator_pastes_items_and_all_are_taken_or_none(
    client: Client, lettered: list[Trace], olga: User, adam: User
) -> None:
    def paste(*rows: object, **fields: str) -> Any:
        text = "\r\n".join(one if isinstance(one, str) else json.dumps(one) for one in rows)
        return client.post(reverse("check_items_add", args=["optics"]), {"rows": text, **fields})

    make_label(lettered[1])
    client.force_login(adam)
    assert paste(row("A")).status_code == 403
    assert b"Add check items" not in client.get(reverse("training", args=["optics"])).content
    client.force_login(olga)
    answer = paste(row("A"), "", row("Z"), "<b>not JSON</b>", row("B"))
    page = answer.content.decode()
    assert answer.status_code == 422
    assert [(bad.line, bad.reason.split(":")[0]) for bad in answer.context["bad"]] == [
        (3, 'no trace "q1/Response Z" in study "optics"'),
        (4, "not JSON"),
        (5, 'trace "q1/Response B" has labels already, which count in the study'),
    ]
    assert "3 rows cannot be" in page
    assert "&lt;b&gt;not JSON" in page, "what was pasted is still there"
    assert not CheckItem.objects.exists()
    for empty in ("", "PAR1 and no more", "\0"):
        assert b"Nothing was taken" in paste(empty).content
    assert paste(row("A"), row("C", kind="hidden", explanation="")).status_code == 302
    assert sorted(CheckItem.objects.values_list("kind", flat=True)) == ["gate", "hidden"]
    entry = AuditEntry.objects.get(action="check items imported")
    assert (entry.actor, entry.subject) == (olga, "the text")
    changed = row("A", first_error_step=3)
    assert b"--replace" in paste(changed).content
    assert paste(changed, replace="on").status_code == 302
    assert CheckItem.objects.get(kind="gate").first_error_step_min == 3


def test_an_administrator_sets_the_marks_on_the_page(
    client: Client, study: Study, ana: User, adam: User, olga: User
) -> None:
    page, order = (reverse(name, args=["optics"]) for name in ("training", "change_marks"))
    fields = {"answer_mark": "90", "step_mark": "70", "attempts": "5"}
    for person in (ana, adam):
        client.force_login(person)
        assert client.post(order, fields).status_code == 403
        assert b"Marks of the gate" not in client.get(page).content
    client.force_login(olga)
    assert client.get(order).status_code == 405
    for name, value in (("answer_mark", "101"), ("step_mark", "-1"), ("attempts", "0"), ("attempts", "")):
        answer = client.post(order, {**fields, name: value})
        assert answer.status_code == 422
        assert list(answer.context["marks"].errors) == [name]
        assert 'value="70"' in answer.content.decode() or name == "step_mark", "what was typed is still there"
    assert not AuditEntry.objects.filter(action="training plan set").exists()
    for _ in range(2):
        assert "marks of the gate now" in client.post(order, fields, follow=True).content.decode()
    plan = training.plan_of(study)
    assert (plan.answer_mark, plan.step_mark, plan.attempts) == (90, 70, 5)
    entry = AuditEntry.objects.get(action="training plan set")
    assert (entry.actor, entry.payload) == (olga, {"answer_mark": 90, "step_mark": 70, "attempts": 5})
    assert "90% of the final answers and 70% of the first false steps, in 5 attempts" in (
        client.get(page).content.decode()
    )


def test_marks_are_percentages(study: Study) -> None:
    for values in ((101, 50, 1), (50, -1, 1), (50, 50, 0)):
        with pytest.raises(UserError):
            set_plan(study=study, answer_mark=values[0], step_mark=values[1], attempts=values[2])


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "odd"},
        {"first_error_step_min": 3, "first_error_step_max": 2},
        {"first_error_step_min": None},
        {"explanation": ""},
    ],
)
def test_the_database_refuses_odd_items(study: Study, fields: dict[str, Any]) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        make_check_item(study, **fields)
