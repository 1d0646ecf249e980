"""A model behind a real HTTP server, from the claim to the verdict: what is asked, paid and stored."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from django.core import serializers
from django.db import connection

from annotation.models import Study
from core.errors import UserError
from core.models import AuditEntry
from monitoring.engine import identity, sweeper
from monitoring.engine.worker import drive
from monitoring.models import Attempt, Batch, Call, Condition, Monitor, Pace, Run, Verdict
from monitoring.services import MonitorSettings, add_monitor
from tests.llm.server import Scenario, Server, tokens
from tests.monitoring.build import make_batch, make_model, make_small_standard

pytestmark = pytest.mark.django_db(transaction=True)

FLAGS_3 = '{"has_error": 1, "first_error_step": 3, "error_confidence": 90, "reason": "a sign is lost"}'


def _drive(batch: Batch, stop: Callable[[], bool] = lambda: False) -> str:
    end = drive(batch_id=batch.pk, owner=identity.owner(), stop=stop)
    batch.refresh_from_db()
    return end


def _outcomes() -> Counter[str]:
    return Counter(Verdict.objects.values_list("outcome", flat=True))


def test_each_call_is_asked_once_paid_once_and_stored_whole(study: Study, chat_server: Server) -> None:
    chat_server.use(Scenario(text=FLAGS_3, latency=0.02))
    model = make_model(study, base_url=chat_server.url)
    batch = make_batch(make_small_standard(study), [model], conditions=[Condition.BLIND, Condition.CERT])
    assert _drive(batch) == "done"
    state = chat_server.settled()
    assert (state.requests, state.paid, max(state.requests_by_key.values())) == (12, 12, 1)
    assert batch.status == Batch.Status.FINISHED
    attempts = list(Attempt.objects.all())
    assert sum(attempt.input_tokens or 0 for attempt in attempts) == state.input_tokens
    prices = (Decimal(state.input_tokens) * 1 + Decimal(state.output_tokens) * 2) / 1_000_000
    assert batch.spent == prices == sum(attempt.cost for attempt in attempts)
    assert batch.reserved == 0
    verdict = Verdict.objects.filter(run__condition="CERT").first()
    assert verdict is not None and verdict.attempt is not None
    assert (verdict.has_error, verdict.first_error_step, verdict.error_confidence) == (True, 3, 90)
    assert verdict.attempt.finish_reason == "stop" and verdict.attempt.served_model
    assert verdict.trace.question.reference_answers.get().text in verdict.attempt.messages[1]["content"]


def test_cert_shows_the_corrected_answer_and_not_the_original(study: Study, chat_server: Server) -> None:
    standard = make_small_standard(study, n_traces=1)
    question = standard.labels.get().trace.question  # type: ignore[attr-defined]
    question.reference_answers.create(version=2, text="seventeen metres", reason="the key forgot a factor")
    batch = make_batch(standard, [make_model(study, base_url=chat_server.url)], conditions=[Condition.CERT])
    question.reference_answers.create(version=3, text="later than the launch", reason="another thought")
    _drive(batch)
    sent = Attempt.objects.get().messages[1]["content"]
    assert "seventeen metres" in sent and "answer 0" not in sent and "later than" not in sent


def test_one_429_makes_one_extra_request(study: Study, chat_server: Server) -> None:
    chat_server.use(Scenario(script=[{"do": "status", "status": 429, "retry_after": 0.2}], latency=0.02))
    batch = make_batch(make_small_standard(study), [make_model(study, base_url=chat_server.url)])
    _drive(batch)
    state = chat_server.settled()
    assert state.requests == 6 + 1 and state.paid == 6
    assert _outcomes() == {"ok": 6}
    assert Attempt.objects.filter(error_kind="rate_limit").count() == 1
    current = Pace.objects.get().current
    assert current is not None and 8 <= current < 16


def test_server_errors_and_cut_connections_are_tried_again(study: Study, chat_server: Server) -> None:
    chat_server.use(Scenario(script=[{"do": "status", "status": 500}, {"do": "drop"}, {"do": "cut_body"}]))
    batch = make_batch(make_small_standard(study), [make_model(study, base_url=chat_server.url)])
    _drive(batch)
    assert _outcomes() == {"ok": 6}
    assert Attempt.objects.filter(error_kind="transient").count() == 3
    assert Attempt.objects.count() == 9


@pytest.mark.parametrize(
    ("act", "outcome"),
    [
        ({"do": "truncate"}, "truncated"),
        ({"do": "refuse"}, "refusal"),
        ({"do": "filter"}, "refusal"),
        ({"do": "empty"}, "no_response"),
        ({"do": "answer", "text": "I would rather talk about birds."}, "invalid"),
        ({"do": "answer", "text": FLAGS_3.replace("3", "99", 1)}, "invalid"),
        ({"do": "answer", "text": FLAGS_3.replace("3", "null", 1)}, "inconsistent"),
        ({"do": "status", "status": 400}, "provider_error"),
        ({"do": "status", "status": 401}, "provider_error"),
    ],
)
def test_each_way_of_not_answering_is_its_own_outcome_and_no_verdict(
    act: dict[str, object], outcome: str, study: Study, chat_server: Server
) -> None:
    chat_server.use(Scenario(script=[act]))
    batch = make_batch(make_small_standard(study, n_traces=3), [make_model(study, base_url=chat_server.url)])
    _drive(batch)
    assert _outcomes() == {outcome: 1, "ok": 2}
    assert chat_server.settled().requests == 3, "none of these is asked again"
    verdict = Verdict.objects.get(outcome=outcome)
    assert (verdict.has_error is None) == (outcome != "inconsistent")


def test_a_batch_over_budget_stops_within_one_calls_cost(study: Study, chat_server: Server) -> None:
    chat_server.use(Scenario(latency=0.01))
    model = make_model(study, base_url=chat_server.url, input_price=Decimal(1000), output_price=Decimal(1000))
    budget = Decimal(6)
    batch = make_batch(make_small_standard(study, n_traces=30), [model], max_cost=budget)
    _drive(batch)
    assert batch.status == Batch.Status.PAUSED and batch.status_reason.startswith("budget")
    assert batch.reserved == 0 and 0 < batch.spent <= budget
    dearest = max(Attempt.objects.values_list("cost", flat=True))
    assert Verdict.objects.count() == chat_server.settled().paid < 30
    # Upper bounds are reserved, so it stops early rather than late: by less than one call's upper bound.
    assert budget - batch.spent < 4 * dearest + Decimal("0.2")


def test_usage_that_is_not_told_is_booked_at_its_upper_bound(study: Study, chat_server: Server) -> None:
    chat_server.use(Scenario(usage="omit"))
    batch = make_batch(make_small_standard(study, n_traces=1), [make_model(study, base_url=chat_server.url)])
    _drive(batch)
    attempt = Attempt.objects.get()
    assert attempt.input_tokens is None
    sent = sum(tokens(message["content"]) for message in attempt.messages)
    assert attempt.cost > Decimal(sent) / 1_000_000


def test_a_model_without_a_price_does_not_start(study: Study, chat_server: Server) -> None:
    standard = make_small_standard(study)
    with pytest.raises(UserError, match="no price is known for some-model"):
        make_batch(standard, [make_model(study, base_url=chat_server.url, output_price=None)])
    assert not Batch.objects.exists() and not Run.objects.exists()


def test_the_key_reaches_the_provider_and_nothing_else(
    study: Study, chat_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_KEY", "sk-very-secret-indeed")
    chat_server.use(Scenario(key="sk-very-secret-indeed", script=[None, {"do": "status", "status": 500}]))
    model = make_model(study, base_url=chat_server.url, key_env="SOME_KEY")
    _drive(make_batch(make_small_standard(study), [model]))
    assert _outcomes() == {"ok": 6}
    for rows in (Attempt, AuditEntry, Batch, Call, Monitor, Run, Verdict):
        assert "sk-very" not in serializers.serialize("json", rows.objects.all())


def test_a_missing_key_pauses_the_batch_and_names_the_variable(study: Study, chat_server: Server) -> None:
    model = make_model(study, base_url=chat_server.url, key_env="NO_SUCH_KEY_HERE")
    batch = make_batch(make_small_standard(study), [model])
    _drive(batch)
    assert batch.status == Batch.Status.PAUSED
    assert "NO_SUCH_KEY_HERE" in batch.status_reason
    assert chat_server.state().requests == 0


def test_two_drivers_on_one_batch_ask_nothing_twice(study: Study, chat_server: Server) -> None:
    chat_server.use(Scenario(latency=0.05))
    model = make_model(study, base_url=chat_server.url, concurrency=6)
    batch = make_batch(make_small_standard(study, n_traces=30), [model])

    def run(place: int) -> None:
        try:
            drive(batch_id=batch.pk, owner=f"driver-{place}")
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(place,)) for place in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    state = chat_server.settled()
    assert (state.requests, state.most_in_flight <= 6) == (30, True)
    assert Verdict.objects.count() == 30
    batch.refresh_from_db()
    assert batch.status == Batch.Status.FINISHED


def test_a_driver_told_to_stop_ends_what_is_in_flight_and_leaves_the_rest(
    study: Study, chat_server: Server
) -> None:
    chat_server.use(Scenario(latency=0.3))
    model = make_model(study, base_url=chat_server.url, concurrency=4)
    batch = make_batch(make_small_standard(study, n_traces=30), [model])
    begun = time.monotonic()
    assert _drive(batch, stop=lambda: time.monotonic() - begun > 1) == "more"
    done = Verdict.objects.count()
    assert 4 <= done < 30 and done == chat_server.settled().paid
    assert set(Call.objects.values_list("status", flat=True)) == {"done", "pending"}
    assert not Attempt.objects.exclude(error_kind="").exists()


def test_what_cannot_end_in_time_is_given_back(study: Study, chat_server: Server, settings: object) -> None:
    settings.ENGINE = {"drain": 0.3}  # type: ignore[attr-defined]
    chat_server.use(Scenario(latency=20))
    model = make_model(study, base_url=chat_server.url, concurrency=4)
    batch = make_batch(make_small_standard(study), [model], max_cost=Decimal(1))
    begun = time.monotonic()
    assert _drive(batch, stop=lambda: time.monotonic() - begun > 0.5) == "more"
    assert time.monotonic() - begun < 10
    assert set(Call.objects.values_list("status", flat=True)) == {"pending"}
    assert Attempt.objects.filter(error_kind="abandoned").count() == 4
    assert batch.reserved == 0 < batch.spent


def test_a_slow_reply_keeps_its_lease(study: Study, chat_server: Server, settings: object) -> None:
    settings.ENGINE = {"lease": 1.0, "renew": 0.2}  # type: ignore[attr-defined]
    chat_server.use(Scenario(latency=2.5))
    model = make_model(study, base_url=chat_server.url)
    batch = make_batch(make_small_standard(study, n_traces=2), [model])
    swept: list[int] = []

    def sweep() -> None:
        try:
            for _ in range(8):
                time.sleep(0.3)
                swept.append(sweeper.return_lost_calls())
        finally:
            connection.close()

    thread = threading.Thread(target=sweep)
    thread.start()
    _drive(batch)
    thread.join(timeout=20)
    assert set(swept) == {0}
    assert (Attempt.objects.count(), chat_server.settled().paid) == (2, 2)


def test_the_stored_messages_are_what_was_sent(study: Study, chat_server: Server) -> None:
    batch = make_batch(make_small_standard(study, n_traces=1), [make_model(study, base_url=chat_server.url)])
    _drive(batch)
    sent = chat_server.state().last_request
    assert sent["messages"] == Attempt.objects.get().messages
    assert (sent["model"], sent["temperature"], sent["max_tokens"]) == ("vendor/some-model", 0.0, 100)
    assert json.loads(Verdict.objects.get().attempt.reply)["has_error"] == 0  # type: ignore[union-attr]


def test_a_monitor_inside_the_network_is_refused_when_added_and_when_asked(
    study: Study, chat_server: Server, settings: Any
) -> None:
    batch = make_batch(make_small_standard(study), [make_model(study, base_url=chat_server.url)])
    settings.ALLOW_PRIVATE_PROVIDERS = False
    inside = MonitorSettings(slug="inside", model="m", base_url="http://169.254.169.254/v1")
    with pytest.raises(UserError, match="not a public address"):
        add_monitor(study=study, settings=inside, actor=None)
    assert _drive(batch) == "done"
    assert batch.status == Batch.Status.PAUSED and "not a public address" in batch.status_reason
    assert chat_server.state().requests == 0
