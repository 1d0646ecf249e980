"""Freezing a study that came from a release: what the release settled stays settled."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.management import call_command

from adjudication.models import Dispute, StandardLabel
from adjudication.services.disputes import recompute_disputes
from adjudication.services.standards import freeze_standard
from annotation.models import Question, Study, Trace
from monitoring.imports.release import import_release
from tests.build import make_label
from tests.monitoring.files import standard_row, verdict_row, write_release

pytestmark = pytest.mark.django_db

DIFFERS = {"human_is_correct": 1, "human_error_step": 2, "gold_error_source": "lead_option"}
ROWS = [
    standard_row("q1", "A", step=3, **DIFFERS),
    standard_row("q1", "B"),
    standard_row("q1", "C", gt_status="excluded", gold_error_source="unreadable"),
    standard_row("q2", "A", gt_status="excluded", gold_error_source="question_level_exclusion"),
]


@pytest.fixture
def study(tmp_path: Path, db: None) -> Study:
    verdicts = [verdict_row("c0", "q1", "A", step=3), verdict_row("c0", "q9", "A")]
    folder = write_release(tmp_path / "r", standard=ROWS, verdicts={"c0__m": verdicts})
    import_release(path=folder, study_slug="hle")
    return Study.objects.get(slug="hle")


def test_a_freeze_right_after_the_import_changes_nothing(study: Study) -> None:
    assert recompute_disputes(study=study).settled == 1
    frozen = freeze_standard(study=study)
    assert (frozen.created, frozen.standard.version) == (False, 1)
    assert not Dispute.objects.exists()


def test_a_later_label_reopens_what_the_release_settled(study: Study) -> None:
    trace = Trace.objects.get(question__external_id="q1", response_label="Response A")
    make_label(trace, labeller="ben", first_error_step=5)
    assert recompute_disputes(study=study).opened == 1


def test_a_trace_that_the_release_left_out_stays_out_beside_ready_ones(study: Study) -> None:
    trace = Trace.objects.get(question__external_id="q1", response_label="Response B")
    make_label(trace, labeller="ben")
    make_label(trace, arm="debate", labeller="other")
    frozen = freeze_standard(study=study)
    assert frozen.created
    labels = frozen.standard.labels
    assert labels.get(trace__response_label="Response C").status == StandardLabel.Status.EXCLUDED
    assert labels.count() == 4  # the trace outside the release's standard is no part of it


def test_a_question_taken_in_again_is_not_held_out_by_the_release(study: Study) -> None:
    Question.objects.filter(external_id="q2").update(status="included", exclusion_reason="")
    frozen = freeze_standard(study=study)
    label = frozen.standard.labels.get(trace__question__external_id="q2")
    assert (label.status, label.provenance) == ("ready", "debate_only")


def test_the_published_release_freezes_to_itself(
    shared: Path, db: None, capsys: pytest.CaptureFixture[str]
) -> None:
    import_release(path=shared / "release", study_slug="hle")
    call_command("freeze_standard", study="hle")
    assert "nothing changed since version 1: no new standard" in capsys.readouterr().out
    assert not Dispute.objects.exists()
