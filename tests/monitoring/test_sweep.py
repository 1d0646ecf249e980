"""Who lives, who is gone, and what the sweeper makes of it."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import timedelta

import pytest
from django.utils import timezone
from kombu.exceptions import OperationalError

from annotation.models import Study
from monitoring.engine import heartbeat, identity, sweeper, waking
from monitoring.engine.claims import claim
from monitoring.models import Batch, Call, Verdict, WorkerHeartbeat
from tests.monitoring.build import make_batch, make_model, make_small_standard

SEND = waking.send


def _owner_of(pid: int) -> str:
    return f"{identity.host()}:{pid}:{identity._birth(pid)}"


def _a_dead_owner() -> str:
    """Return the name of a process that lived on this host and is dead."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    name = _owner_of(process.pid)
    assert not identity.is_gone(name)
    process.kill()
    process.wait(timeout=10)
    process.stdin.close()  # type: ignore[union-attr]
    return name


def test_a_process_knows_itself_as_living() -> None:
    assert not identity.is_gone(identity.owner())
    assert identity.owner() == _owner_of(os.getpid())


def test_a_killed_process_is_known_to_be_gone_even_before_its_parent_asks() -> None:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    name = _owner_of(process.pid)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # a zombie now
    assert identity.is_gone(name)
    process.wait(timeout=10)
    process.stdin.close()  # type: ignore[union-attr]
    assert identity.is_gone(name)


def test_a_reused_pid_is_not_taken_for_the_dead_process() -> None:
    assert identity.is_gone(f"{identity.host()}:{os.getpid()}:1")


@pytest.mark.parametrize("name", ["elsewhere/4026531836:1:1", "", "nonsense", "::"])
def test_of_another_host_nothing_is_claimed(name: str) -> None:
    assert not identity.is_gone(name)


@pytest.mark.django_db
def test_heartbeats_tell_the_living_from_the_silent_and_the_dead() -> None:
    heartbeat.beat()
    heartbeat.beat()
    now = timezone.now()
    WorkerHeartbeat.objects.create(owner=_a_dead_owner(), host="h", pid=1, started_at=now, seen_at=now)
    quiet = now - timedelta(minutes=5)
    WorkerHeartbeat.objects.create(owner="elsewhere/1:1:1", host="e", pid=1, started_at=quiet, seen_at=quiet)
    assert [worker.owner for worker in heartbeat.living()] == [identity.owner()]
    heartbeat.forget_the_dead()
    assert WorkerHeartbeat.objects.count() == 2, "the silent one may come back"


@pytest.mark.django_db
def test_the_calls_of_a_dead_process_return_at_once_and_those_of_the_living_stay(study: Study) -> None:
    batch = make_batch(make_small_standard(study), [make_model(study)])
    claim(batch_id=batch.pk, owner=_a_dead_owner(), room=2)
    claim(batch_id=batch.pk, owner=identity.owner(), room=1)
    claim(batch_id=batch.pk, owner="elsewhere/1:1:1", room=1)
    assert sweeper.return_lost_calls() == 2
    assert Call.objects.filter(status="running").count() == 2
    assert sweeper.return_lost_calls() == 0


@pytest.mark.django_db
def test_a_call_that_takes_every_worker_down_is_given_up(study: Study, settings: object) -> None:
    settings.ENGINE = {"abandoned": 3}  # type: ignore[attr-defined]
    batch = make_batch(make_small_standard(study, n_traces=1), [make_model(study)])
    dead = _a_dead_owner()
    for _ in range(3):
        assert not Verdict.objects.exists()
        assert len(claim(batch_id=batch.pk, owner=dead, room=1).work) == 1
        sweeper.sweep()
    verdict = Verdict.objects.get()
    assert (verdict.outcome, verdict.attempt) == ("provider_error", None)
    batch.refresh_from_db()
    assert batch.status == Batch.Status.FINISHED


@pytest.mark.django_db
def test_only_batches_with_due_work_that_nobody_does_are_woken(study: Study, woken: list[int]) -> None:
    standard, model = make_small_standard(study), make_model(study)
    idle, busy, paused, later, done = (make_batch(standard, [model]) for _ in range(5))
    claim(batch_id=busy.pk, owner=identity.owner(), room=1)
    Batch.objects.filter(pk=paused.pk).update(status="paused")
    Call.objects.filter(run__batch=later).update(not_before=timezone.now() + timedelta(minutes=1))
    Call.objects.filter(run__batch=done).update(status="done")
    woken.clear()
    sweeper.sweep()
    assert woken == [idle.pk]
    done.refresh_from_db()
    assert done.status == Batch.Status.FINISHED


@pytest.mark.django_db
def test_what_returns_to_a_cancelled_batch_is_given_up(study: Study) -> None:
    batch = make_batch(make_small_standard(study), [make_model(study)])
    claim(batch_id=batch.pk, owner=_a_dead_owner(), room=2)
    Batch.objects.update(status="cancelled")
    Call.objects.filter(status="pending").update(status="cancelled")
    sweeper.sweep()
    assert set(Call.objects.values_list("status", flat=True)) == {"cancelled"}


def test_a_broker_that_is_down_is_no_error(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr("celery.current_app.send_task", refuse)
    SEND(7)
    assert "the sweeper will ask again" in caplog.text
