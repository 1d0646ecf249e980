"""A write with an Idempotency-Key is done once, whatever is sent again."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connections
from django.utils import timezone

from annotation.models import Role, Study
from core import idempotency
from core.models import KeptAnswer, User
from monitoring.engine import waking
from monitoring.models import Batch
from tests.adjudication.build import make_dispute, make_standard
from tests.api.build import Program, error_of
from tests.build import make_person, make_study
from tests.monitoring.build import make_scripted

BATCHES = "studies/optics/batches/"


def _launchable(study: Study) -> dict[str, Any]:
    make_dispute(study)
    make_standard(study, allow_open=True)
    monitor = make_scripted(study)
    return {"monitors": [monitor.slug], "conditions": ["BLIND"], "max_cost": None}


@pytest.fixture(autouse=True)
def _nobody_woken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waking, "send", lambda batch_id, *, drivers=1: None)


@pytest.mark.django_db
def test_the_same_request_again_gives_the_same_answer_and_launches_nothing(study: Study, olga: User) -> None:
    body = _launchable(study)
    program = Program(olga)
    program.headers["Idempotency-Key"] = "night-1"
    first, again = program.post(BATCHES, body), program.post(BATCHES, dict(reversed(body.items())))
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json() == first.json()
    assert "Idempotency-Replayed" not in first.headers
    assert again.headers["Idempotency-Replayed"] == "true"
    assert Batch.objects.count() == 1
    other = program.post(BATCHES, {**body, "conditions": ["CERT"]})
    assert (other.status_code, error_of(other)["code"]) == (422, "refused")
    elsewhere = program.post(f"{BATCHES}1/pause/")
    assert elsewhere.status_code == 422
    assert Batch.objects.count() == 1


@pytest.mark.django_db
def test_a_refusal_is_not_kept_and_leaves_the_key_free(study: Study, olga: User) -> None:
    body = _launchable(study)
    program = Program(olga)
    program.headers["Idempotency-Key"] = "k"
    assert program.post(BATCHES, {**body, "monitors": ["nobody"]}).status_code == 422
    assert program.post(BATCHES, {"odd": 1}).status_code == 400
    assert not KeptAnswer.objects.exists()
    assert program.post(BATCHES, body).status_code == 201


@pytest.mark.django_db
def test_keys_belong_to_a_person_and_to_a_day(study: Study, olga: User) -> None:
    body = _launchable(study)
    other = make_person("otto", study=study, roles=[Role.ADMINISTRATOR])
    for person in (olga, other):
        program = Program(person)
        program.headers["Idempotency-Key"] = "k"
        assert program.post(BATCHES, body).status_code == 201
    assert Batch.objects.count() == 2
    KeptAnswer.objects.update(created_at=timezone.now() - idempotency.KEPT - timedelta(seconds=1))
    assert "Idempotency-Replayed" not in program.post(BATCHES, body).headers
    assert idempotency.forget_old() == 1
    assert KeptAnswer.objects.count() == 1


@pytest.mark.django_db
def test_what_is_no_key_is_400_and_a_read_takes_no_notice(study: Study, olga: User) -> None:
    program = Program(olga)
    for key in ("", "a b", "x" * 201):
        program.headers["Idempotency-Key"] = key
        answer = program.post(f"{BATCHES}1/pause/")
        assert (answer.status_code, error_of(answer)["code"]) == (400, "invalid"), key
        assert program.get("studies/").status_code == 200


@pytest.mark.django_db
def test_a_stranger_with_a_key_is_a_stranger(study: Study, eve: User) -> None:
    program = Program(eve)
    program.headers["Idempotency-Key"] = "k"
    assert program.post(BATCHES, {}).status_code == 404
    assert not KeptAnswer.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_of_simultaneous_requests_with_one_key_one_is_done() -> None:
    study = make_study(slug="optics")
    olga = make_person("olga", study=study, roles=[Role.ADMINISTRATOR])
    body = _launchable(study)
    program = Program(olga)
    program.get("me/")
    program.headers["Idempotency-Key"] = "k"

    def launch(_: int) -> Any:
        try:
            return program.post(BATCHES, body)
        finally:
            connections.close_all()

    cache.clear()
    with ThreadPoolExecutor(5) as pool:
        answers = list(pool.map(launch, range(5)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.content for answer in answers}) == 1
    assert sum("Idempotency-Replayed" in answer.headers for answer in answers) == 4
    assert Batch.objects.count() == 1
