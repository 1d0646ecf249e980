"""A broker that restarts or holds something broken costs messages, never a worker."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from kombu import Connection, Consumer, Queue

from config import broker
from config.celery import app

BROKEN = ["", "{", "[1, 2]", '"text"', "{}", '{"body": "e30=", "properties": {}}', "\x00"]


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_file_is_dropped_and_the_next_message_read(
    tmp_path: Path, broken: str, caplog: pytest.LogCaptureFixture
) -> None:
    folders = {name: str(tmp_path / name) for name in ("data_folder_in", "control_folder")}
    for folder in folders.values():
        Path(folder).mkdir()
    options = {**folders, "data_folder_out": folders["data_folder_in"], "store_processed": False}
    got: list[Any] = []
    with Connection("filesystem://localhost/", transport_options=options) as connection:
        assert isinstance(connection.transport, broker.FilesystemTransport)
        queue = Queue("celery")
        Path(folders["data_folder_in"], "0_x.celery.msg").write_text(broken)
        with connection.Producer() as producer:
            producer.publish({"n": 1}, routing_key="celery", declare=[queue])
        with Consumer(connection, [queue], callbacks=[lambda body, message: got.append(body)]):
            while not got:
                connection.drain_events(timeout=5)
    assert got == [{"n": 1}]
    assert "is dropped" in caplog.text


def test_messages_that_cannot_be_put_back_are_let_go(caplog: pytest.LogCaptureFixture) -> None:
    class Gone:
        _transactional = False

        def conn_or_acquire(self, client: Any = None) -> Any:
            raise AttributeError("'NoneType' object has no attribute 'hostname'")

    qos = broker.PatientQoS.__new__(broker.PatientQoS)
    qos.channel, qos._delivered = Gone(), {}
    with caplog.at_level(logging.WARNING):
        assert qos.restore_unacked() == []
    assert "let go" in caplog.text


@pytest.mark.redis
def test_a_broken_entry_of_redis_is_dropped_and_the_next_message_read(redis_url: str) -> None:
    import redis as client  # only where there is one

    name = "falsestep-test-broken"
    got: list[Any] = []
    with client.Redis.from_url(redis_url) as server, Connection(redis_url) as connection:
        assert isinstance(connection.transport, broker.RedisTransport)
        queue = Queue(name)
        server.delete(name)
        for broken in (*BROKEN, json.dumps({"properties": None})):
            server.lpush(name, broken)
        with connection.Producer() as producer:
            producer.publish({"n": 1}, routing_key=name, declare=[queue])
        with Consumer(connection, [queue], callbacks=[lambda body, message: got.append(body)]):
            while not got:
                connection.drain_events(timeout=5)
        server.delete(name)
    assert got == [{"n": 1}]


@pytest.fixture
def redis_url() -> str:
    """The Redis of the environment."""
    import os

    from tests.conftest import skip_or_fail

    url = os.environ.get("REDIS_URL", "")
    if not url:
        skip_or_fail("REDIS_URL is not set")
    return url


def test_the_application_has_them() -> None:
    assert app.connection_for_write().transport_cls in ("filesystem", "redis")
    with app.connection_for_write() as connection:
        assert isinstance(connection.transport, (broker.FilesystemTransport, broker.RedisTransport))
