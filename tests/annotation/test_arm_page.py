"""The page of the human arm: its numbers, and what it keeps from a lead who has still to rule."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from adjudication.models import Dispute
from adjudication.services.decisions import decide
from adjudication.services.disputes import recompute_disputes
from annotation import arm
from annotation.models import Draft, KeyReport, Label, Membership, Role, Skip, Study, Trace
from annotation.services import tally
from core.models import User
from tests.build import make_label, make_person, make_question, make_trace

pytestmark = pytest.mark.django_db


@pytest.fixture
def bo(study: Study) -> User:
    return make_person("bo", study=study, roles=[Role.ANNOTATOR])


def html_for(client: Client, person: User, study: Study) -> str:
    client.force_login(person)
    response = client.get(reverse("arm", args=[study.slug]))
    assert response.status_code == 200
    return response.content.decode()


def test_coverage_counts_traces_labels_and_what_lies_on_excluded_questions(
    study: Study, ana: User, bo: User
) -> None:
    study.overlap = 2
    study.save()
    tally.refresh(study)
    question, gone = make_question(study), make_question(study, status="excluded", exclusion_reason="figure")
    first, second, _third = (make_trace(question) for _ in range(3))
    lost = make_trace(gone)
    for trace, who in ((first, "ana"), (first, "bo"), (second, "ana"), (lost, "ana"), (lost, "bo")):
        make_label(trace, labeller=who)
    make_label(first, labeller="debate", arm="debate")
    make_label(
        second,
        labeller="ana",
        revision=2,
        first_error_step=2,
        supersedes=Label.objects.get(trace=second, labeller="ana"),
    )
    found = arm.coverage(study)
    assert (found.traces, found.distinct, found.complete) == (3, 2, 1)
    assert (found.labels, found.on_excluded, found.distinct_on_excluded, found.in_all) == (5, 2, 1, 3)


def test_people_have_their_throughput_and_time_counted_once(study: Study, ana: User, bo: User) -> None:
    question = make_question(study)
    first, second, third = (make_trace(question) for _ in range(3))
    long_ago = timezone.now() - timedelta(days=30)
    label = make_label(first, person=ana, active_seconds=100, created_at=long_ago)
    make_label(first, person=ana, active_seconds=20, revision=2, supersedes=label, first_error_step=1)
    make_label(second, person=ana, created_at=long_ago)
    make_label(third, labeller="somebody else")
    Skip.objects.create(trace=third, person=ana, reason="a field I do not know")
    Draft.objects.create(trace=third, person=bo, content={})
    mine, other, stranger = arm.people(study)
    assert (mine.name, mine.labels, mine.revised, mine.last_week, mine.skipped) == ("ana", 2, 1, 0, 1)
    assert (mine.active_seconds, mine.timed, mine.seconds_each) == (120, 1, 120)
    assert (other.name, other.labels, other.drafts, other.active_minutes) == ("bo", 0, 1, None)
    assert (stranger.name, stranger.member) == ("somebody else", False)


def test_reminders_name_the_quiet_while_labels_are_wanted(study: Study, ana: User, bo: User) -> None:
    trace = make_trace(make_question(study))
    make_label(trace, person=ana, created_at=timezone.now() - timedelta(days=9))
    found = arm.coverage(study)
    assert arm.reminders(arm.people(study), found) == [], "nothing is wanted"
    make_trace(trace.question)
    lines = arm.reminders(arm.people(study), arm.coverage(study))
    assert len(lines) == 2
    assert lines[0].startswith("ana: 1 so far, the last on ")
    assert lines[1] == "bo: none so far; 1 solution of the study still wants a label"
    make_label(make_trace(trace.question), person=bo, labeller="bo")
    assert [line.split(":")[0] for line in arm.reminders(arm.people(study), arm.coverage(study))] == ["ana"]


def test_agreement_is_of_people_with_each_other(study: Study) -> None:
    question = make_question(study)
    for number in range(4):
        trace = make_trace(question)
        make_label(trace, labeller="ana", first_error_step=2)
        make_label(trace, labeller="bo", first_error_step=2 + number, final_correct=number > 0)
        make_label(trace, arm="debate", labeller="debate")
    excluded = make_trace(make_question(study, status="excluded", exclusion_reason="figure"))
    for who in ("ana", "bo"):
        make_label(excluded, labeller=who)
    found = arm.agreement(study)
    (row,) = found.pairs
    assert (row.first, row.second, row.shared) == ("ana", "bo", 4)
    assert row.numbers is not None
    assert row.numbers.final_correct.percent.value == 0.75
    assert row.numbers.error_presence.percent.value == 1
    assert row.numbers.error_presence.kappa.reason
    assert (row.numbers.exact_step.value, row.numbers.step_within_one.value) == (0.25, 0.5)
    (name, (own, above)), (_, (below, _)) = found.matrix
    assert (name, own) == ("ana", None)
    assert above is not None
    assert below is not None
    assert (above.percent, above.n, below.percent) == (75.0, 4, 100.0)
    assert arm.agreement(study, least=5).pairs[0].numbers is None


@pytest.fixture
def disputed(study: Study, ana: User) -> Trace:
    """A trace in dispute, with a comment and a key report that would give the human proposal away."""
    trace = make_trace(make_question(study), n_steps=5)
    make_label(
        trace, person=ana, first_error_step=2, final_correct=False, comment="I find the slip in the second"
    )
    make_label(trace, arm="debate", labeller="debate", first_error_step=3, final_correct=False)
    KeyReport.objects.create(
        question=trace.question, reporter=ana, reference_version=1, reason="my own result differs"
    )
    return trace


SECRETS = ("I find the slip in the second", "my own result differs")


def test_a_lead_reads_no_comment_and_no_report_before_the_ruling(
    client: Client, study: Study, disputed: Trace, adam: User, olga: User
) -> None:
    page = html_for(client, adam, study)
    for secret in (*SECRETS, disputed.question.external_id, disputed.token, disputed.response_label):
        assert secret not in page
    assert "and so is how many there are" in page
    for secret in SECRETS:
        assert secret in html_for(client, olga, study), "an administrator who does not decide may read them"
    recompute_disputes(study=study)
    assert SECRETS[0] not in html_for(client, adam, study)
    decide(
        dispute=Dispute.objects.get(trace=disputed),
        lead=adam,
        choice="other",
        final_correct=False,
        first_error_step=2,
        rationale="so it is",
        expected_revision=0,
    )
    page = html_for(client, adam, study)
    assert all(secret in page for secret in SECRETS)
    assert "hidden from you" not in page


def test_nor_where_the_other_arm_has_still_to_speak(
    client: Client, study: Study, ana: User, adam: User
) -> None:
    trace = make_trace(make_question(study))
    make_label(trace, person=ana, comment="clear to me")
    KeyReport.objects.create(question=trace.question, reporter=ana, reference_version=1, reason="a doubt")
    page = html_for(client, adam, study)
    assert "clear to me" not in page
    assert "a doubt" not in page
    make_label(trace, arm="debate", labeller="debate")
    page = html_for(client, adam, study)
    assert "clear to me" in page
    assert "a doubt" in page


def test_a_report_is_hidden_before_its_reporter_has_judged(
    client: Client, study: Study, ana: User, adam: User
) -> None:
    trace = make_trace(make_question(study))
    KeyReport.objects.create(question=trace.question, reporter=ana, reference_version=1, reason="a doubt")
    assert "a doubt" not in html_for(client, adam, study)
    client.force_login(adam)
    page = client.get(reverse("questions", args=[study.slug])).content.decode()
    assert '<span class="muted">hidden</span>' in page


def test_exchanging_the_two_arms_changes_no_byte_that_speaks_of_a_trace(
    client: Client, study: Study, disputed: Trace, adam: User
) -> None:
    """Labels are final, so a twin of the study holds the exchanged ones."""
    before = html_for(client, adam, study)
    twin = Study.objects.create(slug="twin", name=study.name, masking_key=study.masking_key)
    Membership.objects.create(study=twin, person=adam, role=Role.LEAD)
    ana = User.objects.get(username="ana")
    Membership.objects.create(study=twin, person=ana, role=Role.ANNOTATOR)
    trace = make_trace(make_question(twin), n_steps=5)
    human = Label.objects.get(trace=disputed, arm="human")
    make_label(
        trace,
        person=ana,
        first_error_step=3,
        final_correct=False,
        comment="another word",
        created_at=human.created_at,
    )
    make_label(trace, arm="debate", labeller="debate", first_error_step=2, final_correct=False)
    KeyReport.objects.create(question=trace.question, reporter=ana, reference_version=1, reason="other")
    after = html_for(client, adam, twin).replace("/studies/twin/", "/studies/optics/")
    assert _without_tokens(after) == _without_tokens(before)


def _without_tokens(page: str) -> str:
    return "\n".join(line for line in page.splitlines() if "csrfmiddlewaretoken" not in line)


def test_agreement_over_few_traces_waits_while_decisions_are_open(
    client: Client, study: Study, disputed: Trace, adam: User, olga: User
) -> None:
    make_label(disputed, labeller="bo", first_error_step=3, final_correct=False)
    assert "shown from 10 shared solutions on" in html_for(client, adam, study)
    assert "shown from 10 shared solutions on" not in html_for(client, olga, study)


def test_the_page_takes_a_constant_number_of_queries(client: Client, study: Study, adam: User) -> None:
    def queries() -> int:
        client.force_login(adam)
        with CaptureQueriesContext(connection) as found:
            client.get(reverse("arm", args=[study.slug]))
        return len(found)

    def fill(number: int) -> None:
        for _ in range(number):
            who = make_person(study=study, roles=[Role.ANNOTATOR])
            trace = make_trace(make_question(study))
            make_label(trace, person=who, labeller=who.username, comment="a word")
            make_label(trace, arm="debate", labeller="debate")

    fill(1)
    few = queries()
    fill(6)
    assert queries() == few
