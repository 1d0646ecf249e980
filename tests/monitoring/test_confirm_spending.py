"""What costs money asks who it is: a recent password on pages, a scope of its own for programs."""

from __future__ import annotations

from decimal import Decimal
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Study
from core import sudo
from core.models import Scope, User
from monitoring.models import Batch
from tests.api.build import Program
from tests.monitoring.build import make_batch, make_model, make_scripted, make_small_standard

pytestmark = pytest.mark.django_db


@pytest.fixture
def stale(client: Client, olga: User) -> Client:
    client.force_login(olga)
    session = client.session
    session[sudo.KEY] -= 3600
    session.save()
    return client


def _launch(client: Client, study: Study, monitor: str) -> str:
    said = {"monitors": monitor, "conditions": "BLIND", "standard": "1", "max_cost": "3"}
    page = client.get(reverse("batch_new", args=[study.slug]), said).content.decode()
    assert ("password is asked first" in page) == (monitor == "some-model")
    return str(client.post(reverse("batch_new", args=[study.slug]), said)["Location"])


def test_a_paid_launch_asks_and_leads_back_to_its_plan(stale: Client, study: Study) -> None:
    make_small_standard(study)
    make_model(study)
    there = _launch(stale, study, "some-model")
    assert there.startswith(reverse("confirm"))
    assert not Batch.objects.exists()
    back = stale.post(there, {"password": "correct-horse", "next": _next(there)})["Location"]
    assert urlsplit(back).path == reverse("batch_new", args=[study.slug])
    page = stale.get(back).content.decode()
    assert "Launch" in page
    assert "budget" in page
    assert "password is asked first" not in page


def _next(there: str) -> str:
    return parse_qs(urlsplit(there).query)["next"][0]


def test_a_launch_that_costs_nothing_asks_nothing(stale: Client, study: Study) -> None:
    make_small_standard(study)
    make_scripted(study)
    assert _launch(stale, study, "scripted") == reverse("batch", args=[study.slug, 1])


def test_more_money_asks_again(stale: Client, study: Study) -> None:
    batch = make_batch(make_small_standard(study), [make_model(study)], max_cost=Decimal(1))
    for name in ("batch_resume", "batch_retry"):
        answer = stale.post(reverse(name, args=[study.slug, batch.number]), {"max_cost": "100"})
        assert answer["Location"].startswith(reverse("confirm")), name
    assert stale.post(reverse("batch_pause", args=[study.slug, batch.number]))["Location"].endswith(
        "/batches/1/"
    )
    batch.refresh_from_db()
    assert batch.max_cost == Decimal(1)


def test_texts_ask_too(stale: Client, study: Study) -> None:
    batch = make_batch(make_small_standard(study), [make_scripted(study)])
    run = [study.slug, batch.number, "scripted", "BLIND"]
    for address in (reverse("run_download", args=run), reverse("download_labels", args=[study.slug])):
        assert stale.post(address, {"format": "csv", "arm": "all"})["Location"].startswith(reverse("confirm"))


def test_a_program_spends_with_the_scope_for_it_alone(study: Study, olga: User) -> None:
    make_small_standard(study)
    make_model(study)
    make_scripted(study)
    path = f"studies/{study.slug}/batches/"
    paid = {"monitors": ["some-model"], "conditions": ["BLIND"], "max_cost": "1"}
    poor = Program(olga, scopes=[Scope.READ, Scope.OPERATE])
    refused = poor.post(path, paid)
    assert refused.status_code == 403
    assert 'lacks the scope "spend"' in refused.json()["error"]["message"]
    assert poor.post(path, paid | {"monitors": ["scripted"]}).status_code == 201
    assert Program(olga, scopes=[Scope.OPERATE, Scope.SPEND]).post(path, paid).status_code == 201
    assert Program(olga, scopes=[Scope.SPEND]).post(path, paid).status_code == 403
    for action in ("resume", "retry"):
        assert poor.post(f"{path}2/{action}/", {}).status_code == 403


def test_a_browser_that_speaks_to_the_api_must_have_confirmed(stale: Client, study: Study) -> None:
    make_small_standard(study)
    make_model(study)
    paid = {"monitors": ["some-model"], "conditions": ["BLIND"], "max_cost": "1"}
    answer = stale.post(f"/api/v1/studies/{study.slug}/batches/", paid, content_type="application/json")
    assert answer.status_code == 403
    assert "confirm who you are" in answer.json()["error"]["message"]
