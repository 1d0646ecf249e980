"""Runs through a provider's batch API: joined by own ids, partial and expired batches resume, nothing twice."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from django.utils import timezone

from annotation.models import Study
from core.errors import UserError
from monitoring.engine import provider_batches, sweeper
from monitoring.engine.claims import claim
from monitoring.engine.options import PROVIDER_BATCHES, BatchOptions
from monitoring.models import Attempt, Batch, Call, Condition, ProviderBatch, Verdict
from tests.llm.server import Scenario, Server
from tests.monitoring.build import make_batch, make_model, make_small_standard

pytestmark = pytest.mark.django_db(transaction=True)

FLAGS = '{"has_error": 1, "first_error_step": 3, "error_confidence": 90, "reason": "a sign"}'
OPTIONS = BatchOptions(via=PROVIDER_BATCHES)


@pytest.fixture(autouse=True)
def _at_once(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.ENGINE = {"poll_first": 0.0, "poll_last": 0.0}


def _launch(study: Study, server: Server, **fields: Any) -> Batch:
    standard = make_small_standard(study)
    conditions = fields.pop("conditions", [Condition.BLIND])
    base_url = server.root if fields.pop("native", False) else server.url
    model = make_model(study, base_url=base_url, **fields)
    return make_batch(standard, [model], conditions=conditions, options=OPTIONS)


def _step(batch: Batch) -> None:
    """Do what is due, as if all waiting were over."""
    Call.objects.filter(not_before__isnull=False).update(not_before=timezone.now())
    ProviderBatch.objects.filter(status="submitting").update(lease_until=timezone.now())
    provider_batches.step(batch.pk)


def _until_verdicts(batch: Batch, *, steps: int = 12) -> None:
    for _ in range(steps):
        _step(batch)
        if Verdict.objects.exists():
            return
    raise AssertionError("no verdict comes")


def _until_finished(batch: Batch, *, steps: int = 12) -> int:
    for number in range(1, steps + 1):
        _step(batch)
        batch.refresh_from_db()
        if batch.status != Batch.Status.RUNNING:
            return number
    raise AssertionError("the batch does not end")


def _outcomes() -> Counter[str]:
    return Counter(Verdict.objects.values_list("outcome", flat=True))


def test_calls_are_handed_in_together_and_settled_once(study: Study, chat_server: Server) -> None:
    chat_server.use(Scenario(text=FLAGS, batch={"polls": 1, "order": "reversed"}))
    batch = _launch(study, chat_server)
    assert claim(batch_id=batch.pk, owner="a driver", room=9).work == [], "drivers leave such runs alone"
    _until_finished(batch)
    assert batch.status == Batch.Status.FINISHED and batch.reserved == 0 < batch.spent
    assert _outcomes() == {"ok": 6}
    assert ProviderBatch.objects.get().n_calls == 6
    assert Attempt.objects.count() == 6 and chat_server.settled().paid == 6
    assert batch.spent == sum(attempt.cost for attempt in Attempt.objects.all())


def test_what_a_batch_leaves_out_is_handed_in_again(study: Study, chat_server: Server) -> None:
    chat_server.use(Scenario(text=FLAGS, batch={"unfinished": 2}))
    batch = _launch(study, chat_server)
    _until_verdicts(batch)
    assert _outcomes() == {"ok": 4}
    chat_server.use(Scenario(text=FLAGS))
    _until_finished(batch)
    assert _outcomes() == {"ok": 6}
    assert Attempt.objects.filter(error_kind="transient").count() == 2
    assert chat_server.settled().paid == 6
    # A hand-in that a busy machine cut off before it arrived is lost, cost nothing, and is not one of them.
    handed_in = ProviderBatch.objects.exclude(handle="").values_list("n_calls", flat=True)
    assert {6, 2} == set(handed_in) and chat_server.state().batches == len(handed_in)


@pytest.mark.parametrize("taken", [True, False])
def test_a_hand_in_that_was_cut_off_is_looked_for_before_it_is_made_again(
    study: Study, chat_server: Server, taken: bool
) -> None:
    chat_server.use(Scenario(text=FLAGS, batch={"acts": [{}, {"do": "drop", "paid": taken}]}))
    batch = _launch(study, chat_server)
    provider_batches.step(batch.pk)
    provider_batches.step(batch.pk)
    if not taken:
        assert Call.objects.filter(status="pending").count() == 0, "it might still arrive"
    _until_finished(batch)
    assert ProviderBatch.objects.count() == (1 if taken else 2)
    assert chat_server.settled().paid == 6 and _outcomes() == {"ok": 6}


def test_batches_of_messages_run_the_same(
    study: Study, chat_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_TEST_KEY", "k")
    chat_server.use(Scenario(text=FLAGS, key="k", batch={"polls": 1, "unfinished": 2, "order": "reversed"}))
    batch = _launch(study, chat_server, provider="anthropic", key_env="ANTHROPIC_TEST_KEY", native=True)
    _until_verdicts(batch)
    assert _outcomes() == {"ok": 4}
    chat_server.use(Scenario(text=FLAGS, key="k"))
    _until_finished(batch)
    assert _outcomes() == {"ok": 6} and chat_server.settled().paid == 6
    assert batch.spent == sum(attempt.cost for attempt in Attempt.objects.all()) > 0
    assert batch.reserved == 0


def test_a_worker_lost_while_it_polled_costs_nothing(study: Study, chat_server: Server) -> None:
    chat_server.use(Scenario(text=FLAGS, batch={"polls": 2, "twice": True}))
    batch = _launch(study, chat_server)
    provider_batches.step(batch.pk)
    assert sweeper.return_lost_calls() == 0, "the chunk holds its calls, whoever lives"
    _until_finished(batch)
    assert chat_server.settled().paid == 6 and _outcomes() == {"ok": 6}


def test_a_chunk_whose_handle_was_lost_is_found_by_its_tag(study: Study, chat_server: Server) -> None:
    chat_server.use(Scenario(text=FLAGS))
    batch = _launch(study, chat_server)
    provider_batches.step(batch.pk)
    # As if the worker had been killed between handing in and storing the handle.
    ProviderBatch.objects.update(
        status="submitting", handle="", next_poll_at=None, lease_until=timezone.now()
    )
    _until_finished(batch)
    assert ProviderBatch.objects.count() == 1 and chat_server.settled().paid == 6
    assert _outcomes() == {"ok": 6}


def test_a_refused_batch_ends_in_outcomes_and_not_in_silence(study: Study, chat_server: Server) -> None:
    chat_server.use(Scenario(key="right"))
    batch = _launch(study, chat_server)
    _until_finished(batch)
    assert _outcomes() == {"provider_error": 6} and chat_server.settled().paid == 0


def test_follow_ups_go_out_in_a_batch_of_their_own(study: Study, chat_server: Server) -> None:
    chat_server.use(Scenario(text=FLAGS))
    batch = _launch(study, chat_server, conditions=[Condition.BLIND, Condition.REVISE])
    _until_finished(batch)
    assert _outcomes() == {"ok": 12}
    revised = Verdict.objects.filter(run__condition="REVISE")
    assert set(revised.values_list("prior_has_error", "prior_first_error_step")) == {(True, 3)}


def test_monitors_without_a_batch_api_are_refused(study: Study) -> None:
    standard = make_small_standard(study)
    with pytest.raises(UserError, match="have batches"):
        make_batch(standard, [make_model(study, provider="google")], options=OPTIONS)


def test_the_sweeper_asks_for_a_worker_when_something_is_due(
    study: Study, chat_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    monkeypatch.setattr("monitoring.engine.waking.send_chunks", asked.append)
    batch = _launch(study, chat_server)
    sweeper.sweep()
    sweeper.sweep()
    assert asked == [batch.pk]
