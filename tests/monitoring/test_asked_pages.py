"""The pages that order the debate and traces: what stands, what it cost, an order with a budget."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import DebateRound, Study, Trace
from core.models import AuditEntry, User
from monitoring import tasks
from monitoring.models import Inquiry
from tests.build import make_question, make_trace
from tests.monitoring.build import make_model, make_scripted

pytestmark = pytest.mark.django_db

SOLUTION = "(1) First.\n(2) Second.\n\\boxed{42}"


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Keep orders from the broker."""
    found: list[Any] = []
    monkeypatch.setattr(
        "monitoring.asked.orders.current_app.send_task", lambda name, args: found.append((name, args))
    )
    return found


def _page(client: Client, person: User, name: str, **headers: str) -> str:
    client.force_login(person)
    response = client.get(reverse(name, args=["optics"]), headers=headers)
    assert response.status_code == 200
    return response.content.decode()


def test_the_debate_is_ordered_with_a_budget(
    study: Study, olga: User, client: Client, sent: list[Any]
) -> None:
    make_trace(make_question(study))
    make_model(study, "a", model="v/a"), make_model(study, "b", model="v/b")
    assert "0 of 1 trace have a consensus" in _page(client, olga, "debate_order").replace("has", "have")
    url = reverse("debate_order", args=["optics"])
    asked = {"first": "a", "second": "b", "judge": "a"}
    assert client.post(url, asked).status_code == 422, "no budget, no order"
    same = client.post(url, {**asked, "second": "a", "max_cost": "2"})
    assert same.status_code == 422 and b"between two models" in same.content
    assert sent == []
    assert client.post(url, {**asked, "max_cost": "2.5"}).status_code == 302
    assert sent == [("monitoring.tasks.debate", ["optics", asked, None, "2.5", olga.pk])]
    assert AuditEntry.objects.get(action="debate ordered").payload["max_cost"] == "2.5"


def test_a_model_without_a_price_is_refused(
    study: Study, olga: User, client: Client, sent: list[Any]
) -> None:
    make_model(study, "a", output_price=None)
    client.force_login(olga)
    url = reverse("generation_order", args=["optics"])
    response = client.post(url, {"monitors": ["a"], "max_cost": "1"})
    assert response.status_code == 422 and b"no price is known" in response.content and sent == []


def test_progress_and_cost_are_shown_and_nothing_of_what_was_said(
    study: Study, olga: User, client: Client
) -> None:
    traces = [make_trace(make_question(study)) for _ in range(2)]
    for name in ("R1", "consensus"):
        DebateRound.objects.create(trace=traces[0], name=name, model="v/a", said={"notes": "sign of step 7"})
    now = timezone.now()
    told: dict[str, Any] = {"study": study, "kind": "debate", "owner": "x", "started_at": now}
    Inquiry.objects.create(key="1", number=1, model="v/a", finished_at=now, cost=Decimal("0.5"), **told)
    Inquiry.objects.create(
        key="2", number=1, model="v/b", finished_at=now, error_kind="rate_limit", error="slow down", **told
    )
    page = _page(client, olga, "debate_order")
    assert "1 of 2 traces has a consensus" in page and "0.5" in page and "slow down" in page
    assert "sign of step 7" not in page and 'hx-trigger="every 3s"' in page
    partial = _page(client, olga, "debate_order", **{"HX-Request": "true"})
    assert "1 of 2" in partial and "<html" not in partial


@pytest.mark.django_db(transaction=True)
def test_ordered_traces_are_made_by_the_task(
    study: Study, olga: User, client: Client, sent: list[Any]
) -> None:
    make_question(study)
    make_scripted(study, "writer", reply=SOLUTION)
    client.force_login(olga)
    url = reverse("generation_order", args=["optics"])
    assert client.post(url, {"monitors": ["writer"], "max_cost": "1"}).status_code == 302
    [(name, arguments)] = sent
    assert name == tasks.generate.name
    tasks.generate(*arguments)
    assert Trace.objects.get().n_steps == 2
    assert AuditEntry.objects.get(action="traces generated").actor == olga
    assert "1 of 1 solution is there" in _page(client, olga, "generation_order")


@pytest.mark.parametrize("name", ["debate_order", "generation_order"])
def test_only_administrators_see_and_order(
    study: Study, ana: User, eve: User, client: Client, name: str
) -> None:
    url = reverse(name, args=["optics"])
    for person, status in ((ana, 403), (eve, 404)):
        client.force_login(person)
        assert client.get(url).status_code == client.post(url, {}).status_code == status
