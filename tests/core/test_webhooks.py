"""Webhooks: signed, ids only, tried again, never to a private address unless allowed."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone

from annotation.models import Role, Study
from annotation.services.labels import submit_label
from core import webhooks
from core.errors import UserError
from core.models import Delivery, User, Webhook
from tests.adjudication.build import make_dispute
from tests.api.build import Program, error_of
from tests.build import make_person, make_question, make_trace

pytestmark = pytest.mark.django_db
EVENT = Webhook.Event.BATCH_FINISHED


class Receiver:
    """A local server that keeps what it is sent and answers with `status`."""

    def __init__(self) -> None:
        self.status, self.got = 200, list[tuple[dict[str, str], bytes]]()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append((dict(self.headers), body))
                self.send_response(receiver.status)
                self.send_header("Location", "http://127.0.0.1:1/")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()


@pytest.fixture
def hook(study: Study, olga: User, receiver: Receiver, settings: Any) -> Webhook:
    settings.WEBHOOKS_PRIVATE = True
    return webhooks.add_webhook(
        scope=study.slug, url=receiver.url, events=list(Webhook.Event.values), actor=olga
    )


def _emitted(study: Study) -> Delivery:
    with transaction.atomic():
        webhooks.emit(scope=study.slug, event=EVENT, ids={"batch": 7})
    return Delivery.objects.latest("pk")


def test_a_message_arrives_signed_once(study: Study, hook: Webhook, receiver: Receiver) -> None:
    delivery = _emitted(study)
    assert webhooks.deliver(delivery.pk)
    assert not webhooks.deliver(delivery.pk)
    [(headers, body)] = receiver.got
    assert json.loads(body)["ids"] == {"study": "optics", "batch": 7}
    at, given = headers["Falsestep-Signature"].split(",")
    stamp = int(at.removeprefix("t="))
    assert abs(stamp - timezone.now().timestamp()) < 60
    assert webhooks.signature(webhooks.secret_of(hook), stamp, body) == f"{at},{given}"
    assert webhooks.signature(webhooks.secret_of(hook), stamp, body + b" ") != f"{at},{given}"
    delivery.refresh_from_db()
    assert (delivery.status, delivery.attempts, delivery.answered) == ("delivered", 1, 200)


def test_what_fails_is_tried_again_later_and_given_up_in_the_end(
    study: Study, hook: Webhook, receiver: Receiver
) -> None:
    receiver.status = 302  # a redirect is a failure: it is not followed
    delivery = _emitted(study)
    waits = []
    for _ in range(len(webhooks.BACKOFF) + 1):
        before = timezone.now()
        assert not webhooks.deliver(delivery.pk)
        delivery.refresh_from_db()
        assert not webhooks.deliver(delivery.pk), "it is not due yet"
        if delivery.next_at:
            waits.append(delivery.next_at - before)
            Delivery.objects.update(next_at=timezone.now())
    assert (delivery.status, delivery.next_at, delivery.problem) == ("failed", None, "answered 302")
    assert len(receiver.got) == delivery.attempts == len(webhooks.BACKOFF) + 1
    assert waits == sorted(waits)
    assert sum(waits, timedelta()) > timedelta(hours=23)


def test_nobody_there_is_a_failure_told_without_the_answer(
    study: Study, hook: Webhook, receiver: Receiver
) -> None:
    Webhook.objects.update(url="http://127.0.0.1:1/hook")
    delivery = _emitted(study)
    assert not webhooks.deliver(delivery.pk)
    delivery.refresh_from_db()
    assert delivery.problem == "no answer: ConnectionRefusedError"


def test_a_private_address_is_not_called(
    study: Study, hook: Webhook, receiver: Receiver, settings: Any
) -> None:
    settings.WEBHOOKS_PRIVATE = False
    delivery = _emitted(study)
    assert not webhooks.deliver(delivery.pk)
    delivery.refresh_from_db()
    assert "not a public address" in delivery.problem
    assert receiver.got == []


def test_the_sweeper_wakes_what_is_due_and_no_more(
    study: Study, hook: Webhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken: list[int] = []
    monkeypatch.setattr(webhooks, "send_soon", lambda keys: woken.extend(keys))
    due, later = _emitted(study), _emitted(study)
    Delivery.objects.filter(pk=later.pk).update(next_at=timezone.now() + timedelta(minutes=1))
    assert webhooks.wake_due() == 1
    assert woken == [due.pk]


@pytest.mark.parametrize(
    ("url", "events"),
    [
        ("http://example.org/", [EVENT]),
        ("https://user:pass@example.org/", [EVENT]),
        ("file:///etc/passwd", [EVENT]),
        ("https://example.org/" + "x" * 500, [EVENT]),
        ("https://example.org/", []),
        ("https://example.org/", ["everything"]),
    ],
)
def test_an_address_or_event_that_cannot_be_is_refused(
    study: Study, olga: User, url: str, events: list[str]
) -> None:
    with pytest.raises(UserError):
        webhooks.add_webhook(scope=study.slug, url=url, events=events, actor=olga)
    assert not Webhook.objects.exists()


def test_a_label_is_told_by_its_trace_alone_and_a_revision_not_at_all(
    study: Study, ana: User, hook: Webhook
) -> None:
    trace = make_trace(make_question(study))
    submit_label(trace=trace, person=ana, final_correct=True, first_error_step=2, comment="a secret word")
    submit_label(trace=trace, person=ana, final_correct=True, first_error_step=3, expected_revision=1)
    assert [(one.event, one.payload) for one in Delivery.objects.all()] == [
        ("label.submitted", {"study": "optics", "trace": trace.token})
    ]


def test_a_label_on_a_trace_in_dispute_is_not_told(study: Study, hook: Webhook) -> None:
    """A lead who gets it would know which of the proposals has just come from a person."""
    dispute = make_dispute(study)
    submit_label(
        trace=dispute.trace,
        person=make_person("bea", study=study, roles=[Role.ANNOTATOR]),
        final_correct=False,
        first_error_step=5,
    )
    assert not Delivery.objects.exists()


def test_administrators_register_and_remove_over_the_api(study: Study, olga: User, ana: User) -> None:
    body = {"url": "https://example.org/hook", "events": ["batch.finished"]}
    assert Program(ana).post("studies/optics/webhooks/", body).status_code == 403
    program = Program(olga)
    made = program.post("studies/optics/webhooks/", body)
    assert made.status_code == 201
    assert len(made.json()["secret"]) == 64
    [listed] = program.get("studies/optics/webhooks/").json()["results"]
    assert listed == {key: value for key, value in made.json().items() if key != "secret"}
    _emitted(study)
    [message] = program.get("studies/optics/webhooks/deliveries/").json()["results"]
    assert (message["event"], message["status"]) == ("batch.finished", "waiting")
    remove = f"studies/optics/webhooks/{listed['token']}/remove/"
    assert program.post(remove).status_code == 200
    assert program.post(remove).status_code == 404
    assert Delivery.objects.get().status == "failed"
    refused = program.post("studies/optics/webhooks/", {**body, "url": "http://10.0.0.1/"})
    assert error_of(refused)["code"] == "refused"


def test_the_page_adds_shows_and_removes(
    client: Client, study: Study, olga: User, ana: User, hook: Webhook
) -> None:
    client.force_login(ana)
    assert client.get("/studies/optics/webhooks/").status_code == 403
    client.force_login(olga)
    added = client.post(
        "/studies/optics/webhooks/add/",
        {"url": "https://example.org/x", "events": ["standard.frozen"]},
        follow=True,
    )
    newest = webhooks.webhooks_of("optics")[0]
    assert webhooks.secret_of(newest) in added.content.decode()
    _emitted(study)
    page = client.get("/studies/optics/webhooks/").content.decode()
    assert webhooks.secret_of(newest) not in page
    assert "example.org/x" in page and "batch.finished" in page
    client.post(f"/studies/optics/webhooks/{newest.token}/remove/")
    assert "example.org/x" not in client.get("/studies/optics/webhooks/").content.decode()
    bad = client.post("/studies/optics/webhooks/add/", {"url": "x"}, follow=True).content.decode()
    assert "Name at least one event" in bad
