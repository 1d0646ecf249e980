"""Monitors behind Anthropic's and Google's own protocols: how they are added, and a batch from call to verdict."""

from __future__ import annotations

from decimal import Decimal
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from annotation.models import Study
from core.models import User
from monitoring.engine import identity
from monitoring.engine.worker import drive
from monitoring.models import Attempt, Batch, Monitor, Verdict
from tests.llm.server import Scenario, Server
from tests.monitoring.build import make_batch, make_model, make_small_standard

NATIVE = pytest.mark.parametrize("provider", ["anthropic", "google"])
FLAGS_3 = '{"has_error": 1, "first_error_step": 3, "error_confidence": 90, "reason": "a sign is lost"}'
KEY = "sk-very-secret-123"


def _add(**options: Any) -> str:
    said = StringIO()
    words = {"study": "optics", "slug": "m", "model": "v-1", "key_env": "SOME_KEY", **options}
    call_command(
        "add_monitor", *[f"--{name.replace('_', '-')}={value}" for name, value in words.items()], stdout=said
    )
    return said.getvalue()


@NATIVE
@pytest.mark.django_db(transaction=True)
def test_a_batch_is_asked_and_settled_in_the_providers_own_protocol(
    provider: str, study: Study, chat_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_KEY", KEY)
    busy = {"do": "status", "status": 429, "retry_after": 0.1}
    refused = {"do": "refuse"}
    chat_server.use(Scenario(text=FLAGS_3, script=[busy, refused], key=KEY))
    model = make_model(study, provider=provider, model="v-1", base_url=chat_server.root, key_env="SOME_KEY")
    batch = make_batch(make_small_standard(study), [model])
    assert drive(batch_id=batch.pk, owner=identity.owner(), stop=lambda: False) == "done"
    batch.refresh_from_db()
    state = chat_server.settled()
    assert (state.requests, state.paid) == (7, 6)
    assert batch.status == Batch.Status.FINISHED
    assert sorted(Verdict.objects.values_list("outcome", flat=True)) == ["ok"] * 5 + ["refusal"]
    assert set(Verdict.objects.filter(outcome="ok").values_list("first_error_step", flat=True)) == {3}
    prices = (Decimal(state.input_tokens) * 1 + Decimal(state.output_tokens) * 2) / 1_000_000
    assert batch.spent == prices
    assert KEY not in str(list(Attempt.objects.values()))


@NATIVE
@pytest.mark.django_db
def test_a_monitor_is_added_at_the_providers_own_address(provider: str, study: Study) -> None:
    _add(provider=provider, input_price=1, output_price=5)
    monitor = Monitor.objects.get()
    assert (monitor.provider, monitor.base_url) == (provider, "")
    assert not monitor.is_offline and monitor.has_price


@NATIVE
@pytest.mark.django_db
def test_a_model_without_its_price_is_not_launched(provider: str, study: Study) -> None:
    assert "tell its prices" in _add(provider=provider)
    make_small_standard(study)
    with pytest.raises(CommandError, match="no price is known"):
        call_command("launch_batch", "--study=optics", "--monitors=m", "--conditions=BLIND")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"provider": "anthropic", "seed": 1}, "Anthropic takes no seed"),
        ({"provider": "anthropic", "reasoning_effort": "high"}, "no temperature with thinking"),
        ({"provider": "anthropic", "reasoning_effort": "huge", "temperature": "none"}, "is one of none"),
        ({"provider": "anthropic", "temperature": "none", "option": "thinking_tokens=9"}, "at least 1024"),
        ({"provider": "google", "temperature": 3}, "from 0 to 2"),
        ({"provider": "google", "option": 'thinking_tokens="x"'}, "whole number"),
        ({"provider": "google", "key_env": ""}, "needs one"),
        ({"provider": "google", "base_url": "ftp://h"}, "base URL"),
        ({"provider": "openai_compatible"}, "base URL"),
    ],
)
def test_a_setting_that_the_provider_cannot_carry_is_refused(
    options: dict[str, Any], said: str, study: Study
) -> None:
    with pytest.raises(CommandError) as refused:
        _add(**options)
    assert said in str(refused.value)
    assert not Monitor.objects.exists()


@pytest.mark.django_db
def test_the_page_offers_the_protocols(client: Client, study: Study, olga: User) -> None:
    client.force_login(olga)
    page = client.get(reverse("monitors", args=[study.slug])).content.decode()
    assert '<option value="anthropic">Anthropic</option>' in page
    data = {
        "slug": "c",
        "provider": "anthropic",
        "model": "v-1",
        "key_env": "K",
        "max_tokens": 99,
        "concurrency": 2,
    }
    refused = client.post(reverse("monitor_add", args=[study.slug]), {**data, "json_mode": "on"})
    assert refused.status_code == 422 and "no JSON mode" in refused.content.decode()
    assert client.post(reverse("monitor_add", args=[study.slug]), data).status_code == 302
    monitor = Monitor.objects.get()
    assert (monitor.provider, monitor.temperature) == ("anthropic", None)
    forged = client.post(
        reverse("monitor_add", args=[study.slug]), {**data, "slug": "d", "provider": "oracle"}
    )
    assert forged.status_code == 422
