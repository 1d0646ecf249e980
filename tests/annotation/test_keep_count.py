"""The queue's counts are those of the rows: after any order of events, and again after a recount."""

from __future__ import annotations

import json
import random
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from annotation import queries
from annotation.imports.labels import import_labels
from annotation.imports.traces import import_traces
from annotation.models import Label, PersonProgress, Question, Role, Study, StudyProgress, TraceProgress
from annotation.services import tally
from annotation.services.labels import submit_label
from annotation.services.queue import claim_next, skip_trace
from annotation.services.sharing import change_queue
from core.models import User
from tests.annotation.build import make_traces
from tests.build import make_label, make_person

pytestmark = pytest.mark.django_db

RULES = {"overlap": 1, "coverage": "complete", "share": 100, "sharing": "free", "show_reference_answer": True}


def rule(study: Study, **changes: object) -> None:
    change_queue(study=study, actor=None, **{**RULES, **changes})  # type: ignore[arg-type]


def recounted(study: Study, person: User) -> tuple[int, int, int, int, int]:
    """Count with plain loops: (total, complete, labelled, mine, open to the person but for holds)."""
    rows = []
    for trace in queries.readable_traces(study):
        labels = set(trace.labels.filter(arm="human").values_list("labeller", flat=True))
        rows.append((labels, trace.skips.filter(person=person).exists()))
    name = person.username
    return (
        len(rows),
        sum(len(labels) >= study.overlap for labels, _ in rows),
        sum(bool(labels) for labels, _ in rows),
        sum(name in labels for labels, _ in rows),
        sum(len(labels) < study.overlap and name not in labels and not skip for labels, skip in rows),
    )


@pytest.mark.parametrize("seed", range(6))
def test_counts_equal_a_recount_after_any_order_of_events(study: Study, seed: int) -> None:
    chance = random.Random(seed)
    rule(study, overlap=chance.choice([1, 2, 3]))
    people = [make_person(study=study, roles=[Role.ANNOTATOR]) for _ in range(4)]
    traces = make_traces(study, 9)
    for _ in range(60):
        person, trace = chance.choice(people), chance.choice(traces)
        event = chance.random()
        if event < 0.3:
            claim_next(study=study, person=person)
        elif event < 0.5:
            skip_trace(trace=trace, person=person, reason="no")
        elif event < 0.55:
            traces += make_traces(study, 1)
        else:
            standing = queries.current_label(trace, person)
            submit_label(
                trace=trace,
                person=person,
                final_correct=chance.random() < 0.5,
                first_error_step=None,
                expected_revision=standing.revision if standing else 0,
            )
    assert tally.verify(study) == []
    for person in people:
        state = queries.progress(study, person)
        assert recounted(study, person) == (
            state.total,
            state.complete,
            state.labelled,
            state.mine,
            state.left + state.held_elsewhere,
        )
        assert state.left == queries.open_traces(study, person).count()


def test_imports_are_counted(study: Study, ana: User, tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    row = {"question_id": "q", "statement": "?", "reference_answer": "1"}
    traces = [{"response_label": f"R{k}", "generator": "g", "steps": ["a", "b"]} for k in range(3)]
    path.write_text(json.dumps({**row, "traces": traces}) + "\n", encoding="utf-8")
    import_traces(path=path, study_slug=study.slug)
    assert queries.progress(study, ana).left == 3
    labels = tmp_path / "labels.jsonl"
    labels.write_text(
        "".join(
            json.dumps(
                {
                    "question_id": "q",
                    "response_label": f"R{k}",
                    "labeller": "ana",
                    "final_correct": 1,
                    "first_error_step": None,
                }
            )
            + "\n"
            for k in range(2)
        ),
        encoding="utf-8",
    )
    import_labels(path=labels, study_slug=study.slug, arm="human")
    state = queries.progress(study, ana)
    assert (state.mine, state.complete, state.left) == (2, 2, 1)
    assert tally.verify(study) == []


def test_the_debates_labels_count_for_nothing(study: Study, ana: User) -> None:
    (trace,) = make_traces(study, 1)
    make_label(trace, arm=Label.Arm.DEBATE, labeller="debate")
    assert TraceProgress.objects.get().labels == 0
    assert tally.verify(study) == []


def test_an_excluded_question_leaves_the_counts_when_they_are_refreshed(study: Study, ana: User) -> None:
    make_traces(study, 6)
    Question.objects.filter(pk=Question.objects.first().pk).update(  # type: ignore[union-attr]
        status=Question.Status.EXCLUDED, exclusion_reason="no answer"
    )
    assert tally.verify(study) != []
    tally.refresh(study)
    assert queries.progress(study, ana).total == 3
    assert tally.verify(study) == []


@pytest.mark.parametrize("table", ["trace", "study", "person"])
def test_the_command_finds_and_mends_a_wrong_count(study: Study, ana: User, table: str) -> None:
    trace, _ = make_traces(study, 2)
    submit_label(trace=trace, person=ana, final_correct=True, first_error_step=None)
    call_command("rebuild_progress", study=study.slug, check=True, stdout=StringIO())
    if table == "trace":
        TraceProgress.objects.filter(trace=trace).update(labels=7)
    elif table == "study":
        StudyProgress.objects.update(complete=2)
    else:
        PersonProgress.objects.update(mine=5)
    with pytest.raises(CommandError, match="1 count wrong"):
        call_command("rebuild_progress", study=study.slug, check=True, stdout=StringIO())
    said = StringIO()
    call_command("rebuild_progress", study=study.slug, stdout=said)
    assert "1 count mended" in said.getvalue()
    assert tally.verify(study) == []


def test_verifying_changes_nothing(study: Study) -> None:
    make_traces(study, 2)
    TraceProgress.objects.update(labels=3)
    assert len(tally.verify(study)) == 2
    assert set(TraceProgress.objects.values_list("labels", flat=True)) == {3}
