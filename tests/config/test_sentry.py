"""What Sentry gets: the kind and the place of a failure, nothing of what was being read."""

from __future__ import annotations

import json
from typing import Any

import sentry_sdk
from sentry_sdk.envelope import Envelope
from sentry_sdk.transport import Transport

from config import sentry
from core import logs

SECRET = "The electron's spin couples to nothing at all"


class Kept(Transport):
    """Sends nothing: keeps what would have been sent."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[str] = []

    def capture_envelope(self, envelope: Envelope) -> None:
        self.sent.append(envelope.serialize().decode())


def _fail(text: str) -> None:
    local = text
    raise ValueError(f"cannot read {local}")


def test_it_hears_what_kind_of_failure_and_where_and_no_word_of_a_text() -> None:
    transport = Kept()
    options = sentry.options("https://public@sentry.invalid/1")
    client = sentry_sdk.Client(**options, transport=transport, default_integrations=False)
    token = logs.request_id.set("request-1")
    with sentry_sdk.new_scope() as scope:
        scope.set_client(client)
        scope.set_user({"id": "1", "email": SECRET})
        scope.set_extra("trace", SECRET)
        scope.set_context("answer", {"text": SECRET})
        scope.add_breadcrumb(message=SECRET)

        def request(event: Any, hint: Any) -> Any:
            url = f"https://site/x/?q={SECRET}"
            return {**event, "message": SECRET, "request": {"method": "PUT", "url": url, "data": {"comment": SECRET},
                    "cookies": {"s": SECRET}, "headers": {"Authorization": SECRET}}}  # fmt: skip

        scope.add_event_processor(request)
        try:
            _fail(SECRET)
        except ValueError as error:
            scope.capture_exception(error)
        scope.capture_message(SECRET)
    client.close()
    logs.request_id.reset(token)
    assert len(transport.sent) == 2
    assert SECRET[:15] not in "".join(transport.sent)
    event = json.loads(transport.sent[0].splitlines()[-1])
    [found] = event["exception"]["values"]
    assert (found["type"], found["value"]) == ("ValueError", "")
    assert found["stacktrace"]["frames"][-1]["function"] == "_fail"
    assert event["request"] == {"method": "PUT", "url": "https://site/x/"}
    assert event["tags"] == {"request_id": "request-1"}
