"""What tests of the engine share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.db import connection

from monitoring.engine import waking
from tests.llm.server import chat_server
from tests.monitoring import counts

__all__ = ["chat_server"]


@pytest.fixture(autouse=True)
def woken(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Keep messages from the real broker; the list holds the batches that workers were asked for."""
    asked: list[int] = []
    monkeypatch.setattr(waking, "send", lambda batch_id, *, drivers=1: asked.append(batch_id))
    return asked


@pytest.fixture(autouse=True)
def _counts_of_runs(request: pytest.FixtureRequest) -> Iterator[None]:
    """Whatever a test did to calls, attempts and verdicts, the counts kept with runs are right after it."""
    if request.node.get_closest_marker("django_db") is None and "db" not in request.fixturenames:
        yield
        return
    request.getfixturevalue("db")
    yield
    if not connection.needs_rollback:
        assert counts.kept() == counts.counted()
