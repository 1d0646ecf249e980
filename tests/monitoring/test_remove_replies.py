"""Retention: the text of a reply goes, once and in one way; verdict, hash and usage stay."""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, transaction
from django.utils import timezone

from annotation.models import Study
from core import audit
from core.errors import UserError
from core.models import AuditEntry
from monitoring import tasks
from monitoring.engine import identity
from monitoring.engine.control import retry_failed
from monitoring.engine.reparsing import reparse_batch
from monitoring.engine.worker import drive
from monitoring.models import Attempt, Batch, Condition, Inquiry, Verdict
from monitoring.retention import RepliesRemoved, keep_replies, remove_replies
from tests.build import make_person
from tests.monitoring.build import make_batch, make_scripted, make_small_standard

pytestmark = pytest.mark.django_db(transaction=True)

GOOD = '{"has_error": 1, "first_error_step": 2, "error_confidence": 80, "reason": "x"}'


@pytest.fixture
def batch(study: Study) -> Batch:
    standard = make_small_standard(study, n_traces=3, n_steps=3)
    batch = make_batch(standard, [make_scripted(study, replies=[GOOD, GOOD, "nothing"])])
    drive(batch_id=batch.pk, owner=identity.owner())
    batch.refresh_from_db()
    assert batch.status == Batch.Status.FINISHED
    Inquiry.objects.create(
        study=study,
        kind=Inquiry.Kind.DEBATE,
        key="k",
        number=1,
        owner="o",
        model="m",
        started_at=timezone.now(),
        finished_at=timezone.now(),
        reply="said",
    )
    return batch


def _later(days: float) -> Any:
    return timezone.now() + timedelta(days=days)


def test_old_replies_go_and_all_else_stays(study: Study, batch: Batch) -> None:
    said = dict(Attempt.objects.values_list("pk", "reply"))
    kept = ("reply", "reply_sha256", "reply_removed_at")
    before = [
        {k: v for k, v in row.items() if k not in kept} for row in Attempt.objects.order_by("pk").values()
    ]
    verdicts = list(Verdict.objects.order_by("pk").values())
    assert remove_replies(study=study, actor=None, now=_later(99)).attempts == 0
    keep_replies(study=study, days=30, actor=None)
    assert remove_replies(study=study, actor=None, now=_later(29)).attempts == 0
    assert remove_replies(study=study, actor=None, now=_later(31), dry_run=True).attempts == 3
    told = remove_replies(study=study, actor=None, now=_later(31))
    assert (told.attempts, told.inquiries) == (3, 1)
    assert remove_replies(study=study, actor=None, now=_later(31)).attempts == 0
    for attempt in Attempt.objects.all():
        assert attempt.reply == ""
        assert attempt.reply_removed_at is not None
        assert attempt.reply_sha256 == hashlib.sha256(said[attempt.pk].encode()).hexdigest()
    after = [
        {k: v for k, v in row.items() if k not in kept} for row in Attempt.objects.order_by("pk").values()
    ]
    assert after == before
    assert list(Verdict.objects.order_by("pk").values()) == verdicts
    assert Inquiry.objects.get().reply == ""
    entries = AuditEntry.objects.filter(action="replies removed").order_by("pk")
    assert [entry.payload["replies"] for entry in entries] == [3, 1]
    assert AuditEntry.objects.get(action="retention set").payload == {"from": None, "days": 30}
    # The builder's standard has no hash of its own; the chain itself holds.
    assert not [found for found in audit.verify() if found.sequence]


def test_replies_of_a_batch_under_way_stay(study: Study, batch: Batch) -> None:
    keep_replies(study=study, days=1, actor=None)
    Batch.objects.update(status=Batch.Status.PAUSED)
    assert remove_replies(study=study, actor=None, now=_later(9)).attempts == 0


@pytest.mark.parametrize(
    "change",
    [
        {"reply": "another"},
        {"reply": ""},
        {"reply": "", "reply_removed_at": "now"},
        {"reply": "", "reply_sha256": "short", "reply_removed_at": "now"},
        {"reply": "x", "reply_sha256": "0" * 64, "reply_removed_at": "now"},
        {"reply": "", "reply_sha256": "0" * 64, "reply_removed_at": "now", "cost": 1},
        {"reply": "", "reply_sha256": "0" * 64, "reply_removed_at": "now", "messages": []},
        {"reply": "", "reply_sha256": "0" * 64, "reply_removed_at": "now", "finish_reason": "length"},
        {"reply": "", "reply_sha256": "0" * 64, "reply_removed_at": "now", "error": "made up"},
    ],
)
def test_the_database_refuses_every_other_change(batch: Batch, change: dict[str, Any]) -> None:
    change = {key: timezone.now() if value == "now" else value for key, value in change.items()}
    attempt = Attempt.objects.exclude(reply="").exclude(messages=[]).first() or Attempt.objects.first()
    assert attempt is not None
    if change.get("messages") == [] and attempt.messages == []:
        change["messages"] = [{"role": "user", "content": "forged"}]
    with pytest.raises(DatabaseError), transaction.atomic():
        Attempt.objects.filter(pk=attempt.pk).update(**change)
    removal = {"reply": "", "reply_sha256": "0" * 64, "reply_removed_at": timezone.now()}
    Attempt.objects.filter(pk=attempt.pk).update(**removal)
    with pytest.raises(DatabaseError), transaction.atomic():  # once
        Attempt.objects.filter(pk=attempt.pk).update(**removal)
    with pytest.raises(DatabaseError), transaction.atomic():
        Attempt.objects.filter(pk=attempt.pk).delete()


def test_reading_anew_is_refused_in_words(study: Study, batch: Batch) -> None:
    keep_replies(study=study, days=1, actor=None)
    remove_replies(study=study, actor=None, now=_later(2))
    with pytest.raises(RepliesRemoved, match="3 replies were removed"):
        reparse_batch(batch=batch, actor=None)
    with pytest.raises(CommandError, match="retention rule"):
        call_command("reparse_run", study=study.slug, batch=batch.number)


def test_steps_are_not_tried_again_without_the_replies_on_the_others(study: Study) -> None:
    standard = make_small_standard(study, n_traces=3, n_steps=3)
    batch = make_batch(standard, [make_scripted(study, reply="?")], conditions=[Condition.STEP])
    drive(batch_id=batch.pk, owner=identity.owner())
    keep_replies(study=study, days=1, actor=None)
    assert remove_replies(study=study, actor=None, now=_later(2)).attempts
    with pytest.raises(RepliesRemoved):
        retry_failed(batch=batch, actor=make_person())


def test_the_command_sets_the_rule_and_the_clock_carries_it_out(
    study: Study, batch: Batch, monkeypatch: Any
) -> None:
    out = StringIO()
    call_command("remove_replies", study=study.slug, keep_days=7, json="-", stdout=out)
    assert json.loads(out.getvalue()) == {"keep_days": 7, "attempts": 0, "inquiries": 0, "dry_run": False}
    later = _later(8)
    monkeypatch.setattr(timezone, "now", lambda: later)
    tasks.remove_old_replies()
    assert not Attempt.objects.exclude(reply="").exists()
    out = StringIO()
    call_command("remove_replies", study=study.slug, keep_all=True, stdout=out)
    assert "for good" in out.getvalue()
    study.refresh_from_db()
    assert study.keep_replies_days is None


def test_bad_rules_are_refused(study: Study) -> None:
    for days in (0, -1, 10**6):
        with pytest.raises(UserError):
            keep_replies(study=study, days=days, actor=None)
    with pytest.raises(CommandError, match="without it"):
        call_command("remove_replies", study=study.slug, keep_days=7, dry_run=True)
