"""What an administrator sets: coverage, who reads which question, priorities, pauses and holds."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection, connections, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation import queries
from annotation.models import (
    Draft,
    Label,
    Pause,
    PersonProgress,
    Reservation,
    Role,
    Study,
    Trace,
    TraceProgress,
)
from annotation.services import queue, sharing, tally
from annotation.services.labels import submit_label
from annotation.services.queue import claim_next, renew_hold
from core.errors import UserError
from core.models import AuditEntry, User
from tests.annotation.build import make_traces
from tests.annotation.test_keep_count import rule
from tests.build import make_person, make_question, make_trace

pytestmark = pytest.mark.django_db


@pytest.fixture
def bea(study: Study) -> User:
    return make_person("bea", study=study, roles=[Role.ANNOTATOR])


def judge(trace: Trace, person: User) -> None:
    submit_label(trace=trace, person=person, final_correct=True, first_error_step=None)


def work(study: Study, person: User, count: int = 100) -> list[Trace]:
    """Label what the queue hands out, at most `count`."""
    found: list[Trace] = []
    while len(found) < count and (trace := claim_next(study=study, person=person)) is not None:
        judge(trace, person)
        found.append(trace)
    return found


# ---- coverage -------------------------------------------------------------------------------------------


def test_stratified_coverage_reads_a_share_of_each_subject(study: Study, ana: User) -> None:
    for subject, count in (("optics", 10), ("statics", 4), ("", 1)):
        for _ in range(count):
            make_trace(make_question(study, subject=subject))
    rule(study, coverage="stratified", share=30)
    read = work(study, ana)
    by_subject: dict[str, int] = {}
    for trace in read:
        by_subject[trace.question.subject] = by_subject.get(trace.question.subject, 0) + 1
    assert by_subject == {"optics": 3, "statics": 2, "": 1}
    assert tally.verify(study) == []
    tally.refresh(study)
    assert queries.progress(study, ana).mine == 6
    rule(study)
    assert len(work(study, ana)) == 9


def test_more_labels_wanted_open_complete_traces_again(study: Study, ana: User, bea: User) -> None:
    make_traces(study, 2)
    assert len(work(study, ana)) == 2
    assert claim_next(study=study, person=bea) is None
    rule(study, overlap=2)
    assert len(work(study, bea)) == 2
    assert tally.verify(study) == []


# ---- questions together or spread ------------------------------------------------------------------------


def test_together_gives_all_traces_of_a_question_to_one_person(study: Study, ana: User, bea: User) -> None:
    make_traces(study, 12)
    rule(study, sharing="together")
    readers: dict[int, set[str]] = {}
    for _ in range(6):
        for person in (ana, bea):
            for trace in work(study, person, 1):
                readers.setdefault(trace.question_id, set()).add(person.username)
    assert Label.objects.count() == 12
    assert {len(people) for people in readers.values()} == {1}
    assert {name for people in readers.values() for name in people} == {"ana", "bea"}


def test_together_finishes_a_question_before_the_next(study: Study, ana: User) -> None:
    make_traces(study, 9)
    rule(study, sharing="together")
    order = [trace.question_id for trace in work(study, ana)]
    assert [order[k] for k in (0, 3, 6)] == [order[k] for k in (2, 5, 8)]
    assert len(set(order)) == 3


def test_what_is_left_under_together_leaves_out_others_questions(study: Study, ana: User, bea: User) -> None:
    make_traces(study, 6)
    rule(study, sharing="together")
    work(study, ana, 1)
    assert queries.progress(study, bea).left == 3
    assert queries.progress(study, ana).left == 5


def test_spread_gives_other_questions_first(study: Study, ana: User) -> None:
    make_traces(study, 9)
    rule(study, sharing="spread")
    order = [trace.question_id for trace in work(study, ana)]
    assert len(set(order[:3])) == 3
    assert len(order) == 9


def test_questions_begun_before_the_rule_count_for_it(study: Study, ana: User, bea: User) -> None:
    make_traces(study, 3)
    work(study, ana, 1)
    rule(study, sharing="together")
    assert claim_next(study=study, person=bea) is None
    assert len(work(study, ana)) == 2


# ---- order, priorities, resuming ---------------------------------------------------------------------------


def test_higher_priorities_come_first(study: Study, ana: User) -> None:
    traces = make_traces(study, 12)
    late, early = traces[4].question, traces[10].question
    for question, priority in ((late, 3), (early, 9)):
        changed = sharing.set_priority(
            study=study, questions=[question.external_id], priority=priority, actor=None
        )
        assert changed == 3
    order = [trace.question for trace in work(study, ana)]
    assert order[:6] == [early] * 3 + [late] * 3
    assert len(order) == 12


def test_a_priority_set_later_overtakes_the_place_that_was_kept(study: Study, ana: User) -> None:
    traces = make_traces(study, 12)
    work(study, ana, 2)
    done = set(Label.objects.values_list("trace__question", flat=True))
    question = next(trace.question for trace in traces if trace.question_id not in done)
    sharing.set_priority(study=study, questions=[question.external_id], priority=1, actor=None)
    assert [trace.question for trace in work(study, ana, 3)] == [question] * 3


def test_a_question_that_is_not_here_sets_no_priority(study: Study) -> None:
    trace, *_ = make_traces(study, 3)
    with pytest.raises(UserError, match="nowhere"):
        sharing.set_priority(
            study=study, questions=[trace.question.external_id, "nowhere"], priority=1, actor=None
        )
    assert not TraceProgress.objects.exclude(priority=0).exists()


def test_blocks_hand_out_everything_whatever_others_take(
    study: Study, ana: User, bea: User, monkeypatch: Any
) -> None:
    monkeypatch.setattr(queue, "BLOCK", 4)
    make_traces(study, 30)
    rule(study, overlap=2)
    seen: dict[str, list[int]] = {"ana": [], "bea": []}
    for _ in range(31):
        for person in (ana, bea):
            seen[person.username] += [trace.pk for trace in work(study, person, 1)]
    assert sorted(seen["ana"]) == sorted(seen["bea"])
    assert len(set(seen["ana"])) == 30
    assert seen["ana"] != seen["bea"]


def test_a_trace_that_was_held_when_the_place_moved_on_is_found_again(
    study: Study, ana: User, bea: User, monkeypatch: Any
) -> None:
    monkeypatch.setattr(queue, "BLOCK", 2)
    make_traces(study, 8)
    held = claim_next(study=study, person=bea)
    assert held is not None
    assert len(work(study, ana)) == 7
    assert PersonProgress.objects.get(labeller="ana").cursor != ""
    Reservation.objects.all().delete()
    assert claim_next(study=study, person=ana) == held


# ---- holds --------------------------------------------------------------------------------------------------


def test_an_open_page_renews_its_hold(study: Study, ana: User) -> None:
    make_traces(study, 1)
    trace = claim_next(study=study, person=ana)
    assert trace is not None
    Reservation.objects.update(expires_at=timezone.now() + timedelta(minutes=1))
    until = renew_hold(trace=trace, person=ana)
    assert until is not None
    assert until > timezone.now() + timedelta(minutes=60)


def test_a_hold_that_ended_is_taken_up_again_only_while_the_trace_is_open(
    study: Study, ana: User, bea: User
) -> None:
    make_traces(study, 1)
    trace = claim_next(study=study, person=ana)
    assert trace is not None
    Reservation.objects.update(expires_at=timezone.now() - timedelta(minutes=1))
    assert renew_hold(trace=trace, person=ana) is not None
    Reservation.objects.update(expires_at=timezone.now() - timedelta(minutes=1))
    assert claim_next(study=study, person=bea) == trace
    assert renew_hold(trace=trace, person=ana) is None
    judge(trace, ana)  # what was read is not thrown away
    assert renew_hold(trace=trace, person=ana) is None
    assert tally.verify(study) == []


def test_a_paused_person_gets_nothing_until_resumed(study: Study, ana: User, olga: User) -> None:
    make_traces(study, 2)
    trace = claim_next(study=study, person=ana)
    assert trace is not None
    Draft.objects.create(trace=trace, person=ana, content={"based_on": 0})
    for _ in range(2):
        sharing.pause_person(study=study, person=ana, actor=olga)
    assert claim_next(study=study, person=ana) is None
    assert renew_hold(trace=trace, person=ana) is None
    assert not Reservation.objects.exists()
    assert Draft.objects.exists()
    for _ in range(2):
        sharing.resume_person(study=study, person=ana, actor=olga)
    assert claim_next(study=study, person=ana) is not None
    actions = AuditEntry.objects.filter(action__startswith="person").values_list("action", flat=True)
    assert list(actions) == ["person paused", "person resumed"]


def test_a_held_trace_goes_to_another_person(study: Study, ana: User, bea: User, olga: User) -> None:
    make_traces(study, 3)
    trace = claim_next(study=study, person=ana)
    assert trace is not None
    sharing.reassign_hold(trace=trace, person=ana, to=bea, actor=olga)
    assert claim_next(study=study, person=bea) == trace
    assert claim_next(study=study, person=ana) != trace
    assert AuditEntry.objects.get(action="hold reassigned").payload == {"from": "ana", "to": "bea"}


@pytest.mark.parametrize("why", ["holds another", "has judged", "is paused", "is no annotator", "not held"])
def test_a_hold_is_not_passed_on_where_that_would_do_harm(
    study: Study, ana: User, bea: User, adam: User, why: str
) -> None:
    make_traces(study, 3)
    trace, to = claim_next(study=study, person=ana), bea
    assert trace is not None
    if why == "holds another":
        claim_next(study=study, person=bea)
    elif why == "has judged":
        judge(trace, bea)
    elif why == "is paused":
        sharing.pause_person(study=study, person=bea, actor=None)
    elif why == "is no annotator":
        to = adam
    else:
        Reservation.objects.all().delete()
    before = list(Reservation.objects.values_list("trace", "person"))
    with pytest.raises(UserError):
        sharing.reassign_hold(trace=trace, person=ana, to=to, actor=None)
    assert list(Reservation.objects.values_list("trace", "person")) == before


def test_the_database_pauses_a_person_once(study: Study, ana: User) -> None:
    Pause.objects.create(study=study, person=ana)
    with pytest.raises(IntegrityError), transaction.atomic():
        Pause.objects.create(study=study, person=ana)


# ---- the page -------------------------------------------------------------------------------------------------

FORM = {"overlap": "2", "coverage": "stratified", "share": "50", "sharing": "spread"}


@pytest.fixture
def as_olga(client: Client, olga: User) -> Client:
    client.force_login(olga)
    return client


def test_the_page_shows_people_holds_and_rules_but_no_judgement(
    as_olga: Client, study: Study, ana: User
) -> None:
    make_traces(study, 3)
    work(study, ana, 1)
    trace = claim_next(study=study, person=ana)
    assert trace is not None
    html = as_olga.get(reverse("queue_rules", args=[study.slug])).content.decode()
    assert trace.question.external_id in html
    assert "Ana" in html
    for secret in (trace.generator, trace.response_label, "✓", "✗"):
        assert secret not in html


def test_the_rules_are_changed_on_the_page(as_olga: Client, study: Study) -> None:
    url = reverse("change_rules", args=[study.slug])
    assert as_olga.post(url, FORM).status_code == 302
    study.refresh_from_db()
    assert [getattr(study, name) for name in sharing.SETTINGS] == [2, "stratified", 50, "spread", False]
    assert AuditEntry.objects.get(action="queue changed").payload["overlap"] == {"from": 1, "to": 2}
    as_olga.post(url, FORM)
    assert AuditEntry.objects.filter(action="queue changed").count() == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"overlap": "0"},
        {"overlap": "51"},
        {"share": "0"},
        {"share": "101"},
        {"sharing": "x"},
        {"overlap": ""},
    ],
)
def test_impossible_rules_are_refused_in_words(
    as_olga: Client, study: Study, changes: dict[str, str]
) -> None:
    response = as_olga.post(reverse("change_rules", args=[study.slug]), {**FORM, **changes})
    assert response.status_code == 422
    study.refresh_from_db()
    assert study.overlap == 1


def test_people_are_paused_resumed_and_relieved_on_the_page(
    as_olga: Client, study: Study, ana: User, bea: User
) -> None:
    make_traces(study, 2)
    trace = claim_next(study=study, person=ana)
    assert trace is not None
    url = reverse("move_hold", args=[study.slug, "ana", trace.token])
    assert "Bea reads it now." in as_olga.post(url, {"to": "bea"}, follow=True).content.decode()
    assert "does not hold" in as_olga.post(url, {"to": "bea"}, follow=True).content.decode()
    as_olga.post(reverse("move_hold", args=[study.slug, "bea", trace.token]))
    assert not Reservation.objects.exists()
    as_olga.post(reverse("pause_person", args=[study.slug, "ana"]))
    assert queries.is_paused(study, ana)
    as_olga.post(reverse("resume_person", args=[study.slug, "ana"]))
    assert not queries.is_paused(study, ana)
    response = as_olga.post(
        reverse("set_priority", args=[study.slug]),
        {"questions": trace.question.external_id + "\n", "priority": "2"},
        follow=True,
    )
    assert "traces moved." in response.content.decode()


PAGES = [
    ("queue_rules", "get", []),
    ("change_rules", "post", []),
    ("set_priority", "post", []),
    ("pause_person", "post", ["ana"]),
    ("resume_person", "post", ["ana"]),
    ("move_hold", "post", ["ana", "TOKEN"]),
]


@pytest.mark.parametrize(("name", "method", "more"), PAGES)
def test_only_an_administrator_opens_these(
    client: Client, study: Study, ana: User, adam: User, eve: User, name: str, method: str, more: list[str]
) -> None:
    (trace,) = make_traces(study, 1)
    url = reverse(name, args=[study.slug, *(trace.token if part == "TOKEN" else part for part in more)])
    for person, status in ((ana, 403), (adam, 403), (eve, 404)):
        client.force_login(person)
        assert getattr(client, method)(url, FORM).status_code == status
    assert not Pause.objects.exists()


@pytest.mark.parametrize("name", ["pause_person", "resume_person"])
def test_somebody_who_does_not_annotate_is_not_found(
    as_olga: Client, study: Study, adam: User, name: str
) -> None:
    assert as_olga.post(reverse(name, args=[study.slug, "adam"])).status_code == 404


def test_the_queue_page_says_that_one_is_paused(client: Client, study: Study, ana: User) -> None:
    make_traces(study, 1)
    sharing.pause_person(study=study, person=ana, actor=None)
    client.force_login(ana)
    assert "You are paused" in client.get(reverse("queue", args=[study.slug])).content.decode()
    assert "1 trace to read" not in client.get(reverse("home")).content.decode()


def test_the_page_of_a_trace_renews_its_hold(client: Client, study: Study, ana: User) -> None:
    make_traces(study, 1)
    trace = claim_next(study=study, person=ana)
    assert trace is not None
    client.force_login(ana)
    url = reverse("hold", args=[study.slug, trace.token])
    assert client.post(url).json()["until"]
    assert client.get(url).status_code == 405
    judge(trace, ana)
    assert client.post(url).json() == {"until": None}


# ---- all at once ----------------------------------------------------------------------------------------------


def test_what_others_have_locked_for_a_moment_is_tried_again(
    study: Study, ana: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_traces(study, 1)
    rule(study, overlap=1, sharing="together")
    lock, asked = queue._lock_question, []

    def busy_at_first(question: int) -> bool:
        asked.append(question)
        return len(asked) > 2 and lock(question)

    monkeypatch.setattr(queue, "_lock_question", busy_at_first)
    assert claim_next(study=study, person=ana) is not None
    assert len(asked) == 3
    make_traces(study, 1)
    monkeypatch.setattr(queue, "_lock_question", lambda question: False)
    other = make_person(study=study, roles=[Role.ANNOTATOR])
    assert claim_next(study=study, person=other) is None


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("sharing_rule", ["free", "together"])
def test_fifteen_people_read_at_once_without_loss(study: Study, sharing_rule: str) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has one writer at a time; runs on PostgreSQL")
    make_traces(study, 45)
    rule(study, overlap=2 if sharing_rule == "free" else 1, sharing=sharing_rule)
    people = [make_person(study=study, roles=[Role.ANNOTATOR]) for _ in range(15)]
    barrier, failures = threading.Barrier(len(people)), []

    def read(person: User) -> None:
        client = Client()
        try:
            client.force_login(person)
            barrier.wait(timeout=30)
            for _ in range(60):
                response = client.post(reverse("queue_next", args=[study.slug]))
                if response["Location"].endswith("/queue/"):
                    return
                form = {"final": "right", "first_error": "none", "revision": "0", "then": "queue"}
                page = client.get(response["Location"])
                twice = [client.post(response["Location"], form).status_code for _ in range(2)]
                if page.status_code != 200 or twice != [302, 302]:
                    failures.append((page.status_code, twice))
        except Exception as error:
            failures.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=read, args=(person,)) for person in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert failures == []
    wanted = 90 if sharing_rule == "free" else 45
    assert Label.objects.count() == wanted
    assert not TraceProgress.objects.exclude(labels=study.overlap).exists()
    assert tally.verify(study) == []
    if sharing_rule == "together":
        pairs = set(Label.objects.values_list("trace__question", "person"))
        assert len(pairs) == len({question for question, _ in pairs})
