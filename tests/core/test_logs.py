"""The log: JSON, with request ids, and never a text, a key or a password."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from celery import current_app
from django.db import DataError, OperationalError
from django.test import Client

from annotation.models import Study
from config import celery as composition
from core import logs
from core.models import User
from llm.types import ProviderError
from tests.api.build import Program
from tests.build import make_question, make_trace

SECRET = "The electron's spin couples to nothing at all"
KEY = "sk-" + "Abc123" * 5


class Lines(logging.Handler):
    """Keeps what the root logger would have written, line by line."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(logs.JsonFormatter())
        self.lines: list[dict[str, Any]] = []
        self.text = ""

    def emit(self, record: logging.LogRecord) -> None:
        line = self.format(record)
        assert "\n" not in line
        self.text += line
        self.lines.append(json.loads(line))


@pytest.fixture
def log() -> Iterator[Lines]:
    handler, root = Lines(), logging.getLogger()
    requests = logging.getLogger("falsestep.request")
    before = requests.level
    root.addHandler(handler)
    requests.setLevel(logging.INFO)
    yield handler
    root.removeHandler(handler)
    requests.setLevel(before)


def test_a_request_keeps_the_id_it_came_with_and_any_other_gets_a_new_one(
    client: Client, log: Lines, db: None
) -> None:
    answer = client.get(
        "/accounts/login/?next=/words-of-a-search", headers={"X-Request-ID": "from-the-proxy-1"}
    )
    assert answer.headers["X-Request-ID"] == "from-the-proxy-1"
    [line] = [line for line in log.lines if line["logger"] == "falsestep.request"]
    assert line["request_id"] == "from-the-proxy-1"
    assert (line["method"], line["route"], line["status"]) == ("GET", "accounts/login/", 200)
    assert line["milliseconds"] >= 0
    assert "words-of-a-search" not in log.text
    for odd in ("", "short", "x" * 65, 'a"b\nc{}defgh'):
        given = client.get("/accounts/login/", headers={"X-Request-ID": odd}).headers["X-Request-ID"]
        assert len(given) == 32 and given != odd
    assert logs.request_id.get() == ""


def test_no_text_and_no_key_reaches_the_log_when_things_fail(
    study: Study, ana: User, log: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: Any) -> None:
        raise DataError(f"value too long\nDETAIL: Failing row contains ({SECRET}).")

    trace = make_trace(make_question(study, statement=SECRET), steps=[SECRET, SECRET])
    monkeypatch.setattr("annotation.api.views.submit_label", fail)
    program = Program(ana)
    program.client.raise_request_exception = False
    body = {"final_correct": True, "first_error_step": None, "comment": SECRET}
    answer = program.put(f"studies/{study.slug}/traces/{trace.token}/label/", body)
    assert answer.status_code == 500
    logger = logging.getLogger("x")
    logger.warning("call %s failed: %s", 3, ProviderError(f"400: {SECRET} {KEY}", kind="permanent"))
    logger.warning("Authorization: Bearer %s and %s", KEY, program.key)
    logger.warning("no way to postgres://user:hunter2@host/x")
    try:
        raise ValueError(SECRET)
    except ValueError as error:
        # As Celery tells of a task that failed.
        logger.error("Task %(name)s raised: %(exc)s\n%(traceback)s", {"name": "t", "exc": repr(error),
                     "traceback": f"Traceback\n{SECRET}"}, exc_info=sys.exc_info())  # fmt: skip
    assert any(line.get("error") == "DataError" and line["where"] for line in log.lines)
    assert any("Task t raised: ValueError" in line["message"] for line in log.lines)
    for word in (SECRET, SECRET[:20], KEY, program.key, "hunter2", "DETAIL"):
        assert word not in log.text


def test_what_a_connection_says_is_kept() -> None:
    assert (
        logs.told(OperationalError("connection refused\nDETAIL x")) == "OperationalError: connection refused"
    )
    assert logs.told(DataError("words")) == "DataError"


def test_a_task_carries_the_id_of_its_request() -> None:
    headers: dict[str, Any] = {}
    token = logs.request_id.set("request-of-somebody")
    composition._hand_on_the_request(headers=headers)
    logs.request_id.reset(token)
    assert headers == {"request_id": "request-of-somebody"}
    seen = []

    @current_app.task(name="tests.see", bind=True)
    def see(self: Any) -> None:
        seen.append(logs.request_id.get())

    see.apply(headers=headers, task_id="an-id-of-a-task")
    see.apply(task_id="an-id-of-a-task")
    assert seen[1] == "an-id-of-a-task"
    assert seen[0] == "request-of-somebody"
    assert logs.request_id.get() == ""
    del current_app.tasks["tests.see"]
