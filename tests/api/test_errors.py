"""Every error has one shape, whatever goes wrong."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client, override_settings

from annotation.models import Study
from annotation.services import labels
from core.api.limits import HeavyRate, PersonRate
from core.errors import UserError
from core.models import User
from tests.api.build import Program, error_of
from tests.build import make_question, make_trace

pytestmark = pytest.mark.django_db


@pytest.fixture
def label(study: Study) -> str:
    trace = make_trace(make_question(study))
    return f"studies/{study.slug}/traces/{trace.token}/label/"


@pytest.mark.parametrize("path", ["", "nothing/", "studies", "studies/nowhere/", "/api/v2/", "/api/"])
def test_an_unknown_address_is_404(ana: User, path: str) -> None:
    answer = Program(ana).get(path)
    assert answer.status_code == 404
    assert error_of(answer)["code"] == "not_found"


def test_a_foreign_study_and_one_that_does_not_exist_look_the_same(study: Study, eve: User) -> None:
    program = Program(eve)
    foreign, nowhere = program.get(f"studies/{study.slug}/"), program.get("studies/nowhere/")
    assert foreign.status_code == nowhere.status_code == 404
    assert foreign.content == nowhere.content


def test_a_method_that_is_not_there_is_405(ana: User) -> None:
    answer = Program(ana).ask("DELETE", "studies/")
    assert (answer.status_code, error_of(answer)["code"]) == (405, "method_not_allowed")
    assert "GET" in answer.headers["Allow"]


@pytest.mark.parametrize(
    "body", [b"{", b"\xff\xfe", b'{"a": NaN}', b"[" * 200_000, b'{"first_error_step": ' + b"9" * 9000 + b"}"]
)
def test_a_body_that_is_no_json_is_400(ana: User, label: str, body: bytes) -> None:
    answer = Program(ana).put(label, body)
    assert answer.status_code == 400
    assert error_of(answer)["code"] == "invalid"


@pytest.mark.parametrize("body", [[], 3, "text", None, [{"final_correct": True}]])
def test_a_body_that_is_no_object_is_400(ana: User, label: str, body: Any) -> None:
    answer = Program(ana).put(label, b"null" if body is None else body)
    assert answer.status_code == 400
    error_of(answer)


def test_what_an_error_repeats_is_cut_and_fit_to_be_sent(ana: User, label: str) -> None:
    answer = Program(ana).put(label, {"\ud800": 1, "x" * 100_000: 1})
    assert answer.status_code == 400
    fields = error_of(answer)["fields"]
    assert sorted(map(len, fields)) == [6, 200]
    assert len(answer.content) < 3000


def test_a_body_of_another_kind_is_415(ana: User, label: str) -> None:
    program = Program(ana)
    answer = Client().put("/api/v1/" + label, "<a/>", content_type="application/xml", headers=program.headers)
    assert (answer.status_code, error_of(answer)["code"]) == (415, "unsupported_media_type")


def test_an_answer_of_another_kind_is_406(ana: User) -> None:
    program = Program(ana)
    program.headers["Accept"] = "text/html"
    answer = program.get("studies/")
    assert (answer.status_code, error_of(answer)["code"]) == (406, "not_acceptable")


def test_a_body_too_large_is_413_before_it_is_read(ana: User, label: str, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    answer = Program(ana).put(label, {"comment": "x" * 2000})
    assert (answer.status_code, error_of(answer)["code"]) == (413, "too_large")


@pytest.mark.parametrize(("throttle", "path"), [(PersonRate, "me/"), (HeavyRate, "studies/optics/plan/")])
def test_too_many_requests_are_429_and_say_when_to_come_again(
    study: Study, olga: User, monkeypatch: pytest.MonkeyPatch, throttle: Any, path: str
) -> None:
    monkeypatch.setattr(throttle, "rate", "2/min", raising=False)
    program = Program(olga)
    answers = [program.get(path) for _ in range(3)]
    assert [answer.status_code == 429 for answer in answers] == [False, False, True]
    assert error_of(answers[2])["code"] == "throttled"
    assert 0 < int(answers[2].headers["Retry-After"]) <= 60


def test_a_counter_that_cannot_be_reached_closes_nothing(ana: User, caplog: pytest.LogCaptureFixture) -> None:
    away = {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": "redis://127.0.0.1:1/0",
    }
    with override_settings(CACHES={"default": away}):
        assert Program(ana).get("me/").status_code == 200
    assert "requests are not counted: ConnectionError" in caplog.text


def test_a_failure_of_ours_is_500_tells_nothing_and_is_logged(
    ana: User, label: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(**_: Any) -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr("annotation.api.views.submit_label", fail)
    program = Program(ana)
    program.client.raise_request_exception = False
    answer = program.put(label, {"final_correct": True, "first_error_step": None})
    assert (answer.status_code, error_of(answer)["code"]) == (500, "server_error")
    assert b"secret" not in answer.content
    assert "ZeroDivisionError" in caplog.text
    program.client.raise_request_exception = True
    with pytest.raises(ZeroDivisionError):
        program.put(label, {"final_correct": True, "first_error_step": None})


def test_while_the_database_is_away_it_is_503_and_says_when_to_try_again(
    ana: User, label: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: Any) -> None:
        raise OperationalError("the database system is starting up")

    monkeypatch.setattr("annotation.api.views.submit_label", fail)
    program = Program(ana)
    program.client.raise_request_exception = False
    answer = program.put(label, {"final_correct": True, "first_error_step": None})
    assert (answer.status_code, error_of(answer)["code"]) == (503, "unavailable")
    assert answer.headers["Retry-After"] == "5"
    assert b"starting up" not in answer.content


def test_a_domain_error_is_422_with_its_words(ana: User, label: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise UserError("the words of the service")

    monkeypatch.setattr(labels, "_check", refuse)
    answer = Program(ana).put(label, {"final_correct": True, "first_error_step": None})
    assert answer.status_code == 422
    assert error_of(answer) == {"code": "refused", "message": "the words of the service"}


def test_no_answer_is_kept_by_anything_on_the_way(ana: User) -> None:
    program = Program(ana)
    for path in ("studies/", "nothing/"):
        assert program.get(path).headers["Cache-Control"] == "no-store"
    assert Program(None).get("studies/").headers["Cache-Control"] == "no-store"
