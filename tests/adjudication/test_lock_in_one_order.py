"""Rulings and labels at the same moment, on PostgreSQL: neither waits for the other for ever."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext

from adjudication.models import Dispute
from adjudication.services.decisions import undo_decision
from adjudication.services.disputes import recompute_disputes
from annotation import hooks
from annotation.models import Label, Question, Study
from annotation.services import tally
from annotation.services.guideline import ensure_guideline
from annotation.services.labels import submit_label
from core.models import AuditEntry, User
from tests.adjudication.build import DEBATE, both, settle
from tests.build import make_label, make_question, make_trace


def _waiting() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT COUNT(*) FROM pg_locks waiting WHERE NOT granted AND pid IN (SELECT l.pid FROM pg_locks l "
            "JOIN pg_database d ON d.oid = l.database WHERE d.datname = current_database())"
        )
        row = cursor.fetchone()
    assert row is not None
    return int(row[0])


def _until_somebody_waits() -> None:
    end = time.monotonic() + 20
    while not _waiting():
        assert time.monotonic() < end, "nobody waits"
        time.sleep(0.01)  # what another session waits for can only be looked up


@pytest.mark.django_db
def test_the_row_that_every_label_counts_in_is_locked_after_what_follows_a_label(
    study: Study, ana: User
) -> None:
    """It is held to the end of the transaction, and nobody else's label gets past it."""
    ensure_guideline(study=study)
    trace = make_trace(make_question(study))
    make_label(trace, arm=DEBATE, labeller="debate", final_correct=True, first_error_step=2)
    tally.refresh(study)
    with CaptureQueriesContext(connection) as captured:
        submit_label(trace=trace, person=ana, final_correct=True, first_error_step=1)
    assert Dispute.objects.get().trace == trace
    sent = [query["sql"] for query in captured]
    [counted] = [place for place, sql in enumerate(sent) if "UPDATE annotation_studyprogress" in sql]
    audited = [place for place, sql in enumerate(sent) if "core_auditchain" in sql]
    followed = [place for place, sql in enumerate(sent) if "adjudication_dispute" in sql]
    assert max(followed) < counted < min(audited)
    actions = AuditEntry.objects.order_by("sequence").values_list("action", flat=True)
    assert list(actions)[-2:] == ["disputes recomputed", "label submitted"]


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_a_ruling_that_excludes_a_question_and_a_revision_at_once_both_end(
    study: Study, ana: User, adam: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ana holds the dispute of her solution and is about to open another one of the question; adam excludes it."""
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has one writer at a time; runs on PostgreSQL")
    ensure_guideline(study=study)
    question = make_question(study)
    hers, ruled = make_trace(question), make_trace(question)
    submit_label(trace=hers, person=ana, final_correct=True, first_error_step=1)
    make_label(hers, arm=DEBATE, labeller="debate", final_correct=True, first_error_step=2)
    both(ruled, (True, 1), (True, 3))
    recompute_disputes(study=study)
    both(make_trace(question), (True, 1), (True, 3))  # a dispute that is not opened yet
    tally.refresh(study)
    dispute = Dispute.objects.get(trace=ruled)

    inside, failures = threading.Event(), []
    told: Callable[..., list[hooks.Record]] = hooks.follow

    def pause(**words: Any) -> list[hooks.Record]:
        inside.set()
        _until_somebody_waits()
        return told(**words)

    monkeypatch.setattr(hooks, "follow", pause)

    def revise() -> None:
        submit_label(trace=hers, person=ana, final_correct=True, first_error_step=4, expected_revision=1)

    def exclude() -> None:
        assert inside.wait(timeout=20)
        settle(dispute, adam, choice="unusable", mark="", exclusion="needs a figure")

    def run(work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:
            failures.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(work,)) for work in (revise, exclude)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert failures == []
    assert Label.objects.get(trace=hers, arm="human", superseded_by__isnull=True).first_error_step == 4
    assert Question.objects.get().status == Question.Status.EXCLUDED
    assert set(Dispute.objects.values_list("status", flat=True)) == {"decided", "withdrawn"}
    assert tally.verify(study) == []


@pytest.mark.django_db
def test_the_counts_of_the_queue_follow_an_exclusion_and_its_undo(study: Study, adam: User) -> None:
    trace = make_trace(make_question(study))
    both(trace, (True, 1), (True, 3))
    recompute_disputes(study=study)
    tally.refresh(study)
    dispute = Dispute.objects.get()
    ruling = settle(dispute, adam, choice="unusable", mark="", exclusion="needs a figure")
    assert tally.verify(study) == []
    undo_decision(dispute=dispute, lead=adam, expected_revision=ruling.revision)
    assert tally.verify(study) == []
