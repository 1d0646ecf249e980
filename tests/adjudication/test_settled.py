"""Who may read all labels when, and which labels a ruling holds fast: blindness belongs to the task."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from adjudication.models import Dispute
from adjudication.services.decisions import decide, undo_decision
from adjudication.services.disputes import recompute_disputes
from adjudication.services.standards import freeze_standard
from annotation import blindness
from annotation.imports.labels import import_labels
from annotation.models import Label, Membership, Role, Study, Trace
from annotation.services.labels import submit_label
from core.errors import Conflict, ImportRefused
from core.models import AuditEntry, User
from tests.annotation.files import write_lines
from tests.build import make_label, make_question, make_trace

pytestmark = pytest.mark.django_db
PAGE, FILE = "/studies/optics/labels/", "/studies/optics/labels/download/"


@pytest.fixture
def trace(study: Study) -> Trace:
    return make_trace(make_question(study), n_steps=5)


@pytest.fixture
def disputed(trace: Trace, ana: User) -> Trace:
    """A trace that ana and the debate judge differently."""
    make_label(trace, person=ana, first_error_step=2, final_correct=False)
    make_label(trace, arm="debate", labeller="debate", first_error_step=3, final_correct=False)
    return trace


def rule(trace: Trace, lead: User) -> Dispute:
    recompute_disputes(study=trace.study)
    dispute = Dispute.objects.get(trace=trace)
    decide(
        dispute=dispute,
        lead=lead,
        choice="other",
        final_correct=False,
        first_error_step=2,
        rationale="step 2 drops a sign",
        expected_revision=0,
    )
    return dispute


def take(client: Client, **fields: str) -> Any:
    return client.post(FILE, {"format": "csv", "arm": "all", **fields})


def test_an_administrator_downloads_every_label(client: Client, disputed: Trace, olga: User) -> None:
    client.force_login(olga)
    assert "Download the labels" in client.get(PAGE).content.decode()
    response = take(client)
    assert response.status_code == 200
    assert response.streaming
    assert response["Content-Disposition"] == 'attachment; filename="optics-labels-all.csv"'
    rows = list(csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode(), newline="")))
    assert [row["arm"] for row in rows] == ["debate", "human"]
    entry = AuditEntry.objects.get(action="labels exported")
    assert (entry.actor, entry.payload) == (
        olga,
        {"format": "csv", "arm": "all", "rows": 2, "by": "download"},
    )


def test_nobody_else_does(client: Client, disputed: Trace, ana: User, adam: User, eve: User) -> None:
    for person, status in ((ana, 403), (adam, 403), (eve, 404)):
        client.force_login(person)
        assert client.get(PAGE).status_code == status
        assert take(client).status_code == status
    client.logout()
    assert take(client).status_code == 302
    assert not AuditEntry.objects.filter(action="labels exported").exists()


def test_a_download_is_no_get_and_names_a_format(client: Client, olga: User) -> None:
    client.force_login(olga)
    assert client.get(FILE).status_code == 405
    assert take(client, format="odd").status_code == 422
    assert take(client, arm="").status_code == 422


def test_a_lead_who_is_administrator_too_waits_for_their_own_decisions(
    client: Client, disputed: Trace, adam: User
) -> None:
    Membership.objects.create(study=disputed.study, person=adam, role=Role.ADMINISTRATOR)
    client.force_login(adam)
    page = client.get(PAGE).content.decode()
    assert "1 trace waits for a decision" in page
    assert '<form method="post" action="/studies/optics/labels/download/"' not in page
    refused = take(client)
    assert refused.status_code == 403
    assert b"1 trace waits for a decision" in refused.content
    assert not AuditEntry.objects.filter(action="labels exported").exists()
    rule(disputed, adam)
    assert take(client).status_code == 200


def test_labels_of_one_arm_may_still_come_into_dispute(client: Client, trace: Trace, adam: User) -> None:
    Membership.objects.create(study=trace.study, person=adam, role=Role.ADMINISTRATOR)
    make_label(trace, first_error_step=2)
    client.force_login(adam)
    assert b"labels of one arm" in take(client).content
    freeze_standard(study=trace.study)
    assert take(client).status_code == 200
    make_label(trace, arm="debate", labeller="debate", first_error_step=4)
    assert take(client).status_code == 403, "a label younger than the standard reopens the question"


def test_an_annotator_who_is_administrator_too_reads_first(client: Client, trace: Trace, ana: User) -> None:
    Membership.objects.create(study=trace.study, person=ana, role=Role.ADMINISTRATOR)
    client.force_login(ana)
    assert b"1 trace is still open to you" in take(client).content
    submit_label(trace=trace, person=ana, final_correct=True, first_error_step=None)
    assert take(client).status_code == 200


def test_what_is_settled_follows_from_the_labels(study: Study, adam: User, ana: User) -> None:
    question = make_question(study)
    agreed, one_arm, differing, ruled, unlabelled = (make_trace(question, n_steps=5) for _ in range(5))
    for trace in (agreed, one_arm, differing, ruled):
        make_label(trace, person=ana)
    make_label(agreed, arm="debate", labeller="debate")
    for trace in (differing, ruled):
        make_label(trace, arm="debate", labeller="debate", first_error_step=1)
    recompute_disputes(study=study)
    rule(ruled, adam)
    assert set(blindness.undecided(study)) == {differing}
    assert set(blindness.unsettled(study)) == {differing, one_arm}
    assert unlabelled not in blindness.unsettled(study)
    excluded = make_trace(make_question(study, status="excluded", exclusion_reason="figure"))
    make_label(excluded)
    assert set(blindness.unsettled(study)) == {differing, one_arm}
    # A superseded label no longer counts.
    first = Label.objects.get(trace=differing, arm="human")
    make_label(differing, person=ana, first_error_step=1, revision=2, supersedes=first)
    assert not blindness.undecided(study).exists()


def test_a_label_that_a_decision_used_cannot_be_reopened(disputed: Trace, ana: User, adam: User) -> None:
    def revise() -> Label:
        return submit_label(
            trace=disputed, person=ana, final_correct=True, first_error_step=None, expected_revision=1
        )

    dispute = rule(disputed, adam)
    with pytest.raises(Conflict, match="can no longer be changed here") as refusal:
        revise()
    assert "disput" not in str(refusal.value), "an annotator must not learn that labels differed"
    assert Label.objects.filter(trace=disputed, arm="human").count() == 1
    same = submit_label(
        trace=disputed, person=ana, final_correct=False, first_error_step=2, expected_revision=1
    )
    assert same.revision == 1, "the same judgements again are no change"
    undo_decision(dispute=dispute, lead=adam, rationale="read it again", expected_revision=1)
    assert revise().revision == 2


def test_nor_by_an_import(disputed: Trace, adam: User, tmp_path: Path) -> None:
    rule(disputed, adam)
    path = write_lines(
        tmp_path / "l.jsonl",
        {
            "question_id": disputed.question.external_id,
            "response_label": disputed.response_label,
            "labeller": "ana",
            "final_correct": True,
            "first_error_step": None,
        },
    )
    with pytest.raises(ImportRefused, match="a decision rests on the labels"):
        import_labels(path=path, study_slug="optics", arm="human", revise=True)


def test_a_first_label_of_another_person_is_still_taken(disputed: Trace, adam: User, study: Study) -> None:
    rule(disputed, adam)
    bo = User.objects.create_user("bo")
    Membership.objects.create(study=study, person=bo, role=Role.ANNOTATOR)
    label = submit_label(trace=disputed, person=bo, final_correct=True, first_error_step=None)
    assert label.revision == 1
