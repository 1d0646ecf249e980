"""export_study: everything with its texts, for an administrator, recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from adjudication.services.standards import freeze_standard
from annotation.imports.debates import import_debates
from annotation.imports.labels import import_labels
from annotation.imports.traces import import_traces
from annotation.models import DebateRound, Membership, Question, Role, Study, Trace
from core.models import AuditEntry, User
from tests.adjudication.build import both, make_dispute, settle
from tests.build import make_question, make_trace

pytestmark = pytest.mark.django_db


def _filled(study: Study, adam: User) -> None:
    both(make_trace(make_question(study), response_label="Response A"), (True, None), (True, None))
    dispute = make_dispute(study, response_label="Response A")
    for name in ("R1", "blind", "consensus"):
        DebateRound.objects.create(
            trace=dispute.trace, name=name, model="m", said={"is_correct": 1, "error_step": 4}, source="t"
        )
    settle(dispute, adam)
    freeze_standard(study=study)


def _export(folder: Path, who: str = "olga") -> None:
    call_command("export_study", str(folder), "--study", "optics", "--as", who)


def test_everything_is_written_and_comes_back(tmp_path: Path, study: Study, adam: User, olga: User) -> None:
    _filled(study, adam)
    _export(tmp_path / "out")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"questions.jsonl", "labels_human.jsonl", "labels_debate.jsonl", "debates.jsonl"} <= names
    assert {"decisions.jsonl", "standards.jsonl", "study_manifest.json"} <= names
    entry = AuditEntry.objects.get(action="study exported")
    assert (entry.actor, entry.payload["rows"]["questions.jsonl"]) == (olga, 2)
    folder = tmp_path / "out"
    import_traces(path=folder / "questions.jsonl", study_slug="copy")
    import_labels(path=folder / "labels_human.jsonl", study_slug="copy", arm="human")
    import_labels(path=folder / "labels_debate.jsonl", study_slug="copy", arm="debate")
    import_debates(path=folder / "debates.jsonl", study_slug="copy")
    copy = Study.objects.get(slug="copy")

    def texts(of: Study) -> list[tuple[str, ...]]:
        rows = Trace.objects.filter(study=of).select_related("question")
        return sorted((t.question.external_id, t.response_label, t.text, t.sha256) for t in rows)

    assert [row[:3] for row in texts(copy)] == [row[:3] for row in texts(study)]
    assert DebateRound.objects.filter(trace__study=copy).count() == 3
    decisions = [json.loads(line) for line in (folder / "decisions.jsonl").read_text().splitlines()]
    assert decisions[0]["rationale"] == "The sign is lost there."
    assert Question.objects.filter(study=copy).count() == 2


def test_exporting_again_is_the_same_to_the_byte(
    tmp_path: Path, study: Study, adam: User, olga: User
) -> None:
    _filled(study, adam)
    _export(tmp_path / "out")
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    _export(tmp_path / "out")
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before


@pytest.mark.parametrize(
    ("who", "message"),
    [("adam", "no administrator"), ("nobody", "nobody is called"), ("eve", "no administrator")],
)
def test_only_an_administrator_takes_it(
    tmp_path: Path, study: Study, adam: User, eve: User, who: str, message: str
) -> None:
    _filled(study, adam)
    with pytest.raises(CommandError, match=message):
        _export(tmp_path / "out", who)
    assert not (tmp_path / "out").exists()
    assert not AuditEntry.objects.filter(action="study exported").exists()


def test_an_administrator_who_still_decides_waits(
    tmp_path: Path, study: Study, adam: User, olga: User
) -> None:
    _filled(study, adam)
    make_dispute(study)
    Membership.objects.create(study=study, person=olga, role=Role.LEAD)
    with pytest.raises(CommandError, match="until it is made you must not know"):
        _export(tmp_path / "out")
    assert not (tmp_path / "out").exists()
