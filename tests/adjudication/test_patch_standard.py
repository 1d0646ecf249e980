"""A patch is a new version with a reason; a diff names exactly what it changed."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from adjudication.models import ReferenceStandard, StandardLabel
from adjudication.services.diffs import diff_standards
from adjudication.services.patches import Change, PatchRefused, parse_change, patch_standard
from annotation.models import Question, Study
from core.errors import UserError
from tests.adjudication.build import both, make_dispute, make_standard
from tests.build import make_label, make_question, make_trace

pytestmark = pytest.mark.django_db


@pytest.fixture
def question(study: Study) -> Question:
    question = make_question(study, external_id="q77")
    for letter, said in (("A", (True, None)), ("B", (False, 3)), ("C", (True, 2))):
        both(make_trace(question, response_label=f"Response {letter}"), said, said)
    gone = make_question(study, external_id="gone", status="excluded", exclusion_reason="needs its image")
    make_trace(gone, response_label="Response A")
    make_trace(make_question(study, external_id="bare"), response_label="Response A")
    return question


def _patch(study: Study, *changes: str, reason: str = "slip", version: int = 1) -> ReferenceStandard:
    return patch_standard(
        study=study,
        from_version=version,
        changes=[parse_change(text) for text in changes],
        reason=reason,
    ).standard


def test_it_makes_a_new_version_and_leaves_the_old_alone(study: Study, question: Question) -> None:
    old = make_standard(study)
    before = list(old.labels.order_by("pk").values())
    new = _patch(study, "q77/A:first_error_step=1")
    assert (new.version, new.parent, new.note) == (2, old, "slip")
    assert list(old.labels.order_by("pk").values()) == before
    label = new.labels.get(trace__response_label="Response A", trace__question=question)
    assert (label.first_error_step, label.provenance, label.cell) == (1, "patched", "critical")
    assert new.sha256 != old.sha256


def test_the_diff_of_one_patched_step_is_one_entry(study: Study, question: Question) -> None:
    old = make_standard(study)
    new = _patch(study, "q77/A:first_error_step=1")
    assert [change.as_json() for change in diff_standards(old, new)] == [
        {
            "question_id": "q77",
            "response_label": "Response A",
            "field": "first_error_step",
            "from": None,
            "to": 1,
        }
    ]
    assert diff_standards(old, old) == []


def test_a_range_of_one_step_makes_no_noise_in_the_diff(study: Study) -> None:
    trace = make_trace(make_question(study, external_id="q1"), response_label="Response A")
    make_label(trace, first_error_step=2, first_error_step_min=2, first_error_step_max=2)
    old = make_standard(study)
    StandardLabel.objects.get(trace=trace)
    new = _patch(study, "q1/Response A:first_error_step=4")
    assert [change.field for change in diff_standards(old, new)] == ["first_error_step"]


def test_a_range_is_patched_and_told(study: Study, question: Question) -> None:
    old = make_standard(study)
    new = _patch(
        study, "q77/B:final_correct=1,first_error_step=4,first_error_step_min=3,first_error_step_max=5"
    )
    assert {change.field: (change.before, change.after) for change in diff_standards(old, new)} == {
        "final_correct": (False, True),
        "first_error_step": (3, 4),
        "first_error_step_min": (None, 3),
        "first_error_step_max": (None, 5),
    }


def test_none_clears_the_step_with_its_range(study: Study, question: Question) -> None:
    make_standard(study)
    new = _patch(study, "q77/C:first_error_step=none")
    label = new.labels.get(trace__response_label="Response C")
    assert (label.first_error_step, label.cell) == (None, "clean")


def test_several_changes_make_one_version(study: Study, question: Question) -> None:
    old = make_standard(study)
    new = _patch(study, "q77/A:final_correct=0", "q77/B:first_error_step=null")
    assert new.version == 2
    assert len(diff_standards(old, new)) == 2


def test_an_unresolved_label_becomes_ready(study: Study, question: Question) -> None:
    old = make_standard(study)
    new = _patch(study, "bare/A:final_correct=1,first_error_step=2")
    label = new.labels.get(trace__question__external_id="bare")
    assert (label.status, label.status_reason) == ("ready", "")
    assert {change.field for change in diff_standards(old, new)} == {
        "status",
        "status_reason",
        "final_correct",
        "first_error_step",
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q77/A:first_error_step=6", "no step 6: this solution has 5"),
        ("q77/A:first_error_step=0", "counted from 1"),
        ("q77/A:first_error_step=1.5", "a step number from 1, or none"),
        ("q77/A:first_error_step=-1", "a step number from 1, or none"),
        ("q77/A:final_correct=maybe", "1 or 0"),
        ("q77/A:final_correct=none", "1 or 0"),
        ("q77/A:gt=1", "the fields are final_correct"),
        ("q77/A:first_error_step", "cannot set"),
        ("q77/A:first_error_step=1,first_error_step=2", "twice"),
        ("q77/A", "write QID/LABEL"),
        ("q77:first_error_step=1", "write QID/LABEL"),
        ("q77/D:first_error_step=1", "did you mean q77/Response A, q77/Response B"),
        ("q76/A:first_error_step=1", "did you mean q77/Response A"),
        ("q77/A:final_correct=1", "nothing would change"),
        ("q77/A:first_error_step_min=1,first_error_step_max=2", "needs the step that counts"),
        ("q77/B:first_error_step_min=4,first_error_step_max=5", "outside the range"),
        ("gone/A:final_correct=1", "excluded .needs its image."),
        ("bare/A:first_error_step=1", "set final_correct as well"),
    ],
)
def test_it_refuses_a_change_that_cannot_be(
    study: Study, question: Question, text: str, message: str
) -> None:
    make_standard(study)
    with pytest.raises(PatchRefused, match=message):
        _patch(study, text)
    assert ReferenceStandard.objects.count() == 1


def test_a_short_letter_that_fits_two_labels_is_refused(study: Study) -> None:
    question = make_question(study, external_id="q1")
    for label in ("Response A", "Retry A"):
        both(make_trace(question, response_label=label), (True, None), (True, None))
    make_standard(study)
    with pytest.raises(PatchRefused, match='"Response A", "Retry A"'):
        _patch(study, "q1/A:first_error_step=1")


def test_it_wants_a_reason_and_a_version_that_exists(study: Study, question: Question) -> None:
    make_standard(study)
    with pytest.raises(PatchRefused, match="reason"):
        _patch(study, "q77/A:first_error_step=1", reason=" ")
    with pytest.raises(UserError, match="no standard 7; there are: 1"):
        _patch(study, "q77/A:first_error_step=1", version=7)
    with pytest.raises(PatchRefused, match="at least one"):
        patch_standard(study=study, from_version=1, changes=[], reason="x")


def test_the_same_patch_twice_is_one_version(study: Study, question: Question) -> None:
    make_standard(study)
    change = Change("q77", "A", {"first_error_step": 1})
    first = patch_standard(study=study, from_version=1, changes=[change], reason="slip")
    again = patch_standard(study=study, from_version=1, changes=[change], reason="slip")
    assert (first.created, again.created) == (True, False)
    assert again.standard == first.standard


def _run(*words: str) -> str:
    out = io.StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


def test_the_commands_freeze_patch_and_compare(study: Study, question: Question, tmp_path: Path) -> None:
    card, diff = tmp_path / "card.json", tmp_path / "diff.json"
    told = _run("freeze_standard", "--study", "optics", "--note", "first", "--json", str(card))
    assert "standard 1 of optics" in told
    assert "nothing changed since version 1" in _run("freeze_standard", "--study", "optics")
    content: dict[str, Any] = json.loads(card.read_text())
    assert content["cells"] == {"clean": 1, "wrong": 1, "critical": 1}
    told = _run(
        "patch_standard", "--study", "optics", "--from", "1",
        "--set", "q77/A:first_error_step=1", "--reason", "misread",
    )  # fmt: skip
    assert "q77/Response A first_error_step: none -> 1" in told
    again = _run(
        "patch_standard", "--study", "optics", "--from", "1",
        "--set", "q77/A:first_error_step=1", "--reason", "misread", "--json", "-",
    )  # fmt: skip
    done = json.loads(again)
    assert (done["standard"], done["new"], done["changed"][0]["to"]) == (2, False, 1)
    told = _run("diff_standards", "--study", "optics", "1", "2", "--json", str(diff))
    assert "differs from 1 in 1 label\n" in told
    assert [change["to"] for change in json.loads(diff.read_text())["changed"]] == [1]
    assert json.loads(_run("diff_standards", "--study", "optics", "1", "2", "--json", "-"))["changed"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["freeze_standard", "--study", "nowhere"], 'no study named "nowhere"; there are: optics'),
        (["freeze_standard", "--study", "optics"], "1 open disputes"),
        (["diff_standards", "--study", "optics", "1", "2"], "no standard 1; there are: none yet"),
        (
            ["patch_standard", "--study", "optics", "--from", "1", "--set", "x", "--reason", "y"],
            "write QID/LABEL",
        ),
    ],
)
def test_the_commands_fail_with_a_sentence(study: Study, words: list[str], message: str) -> None:
    make_dispute(study)
    with pytest.raises(CommandError, match=message) as refused:
        _run(*words)
    assert refused.value.returncode == 1
