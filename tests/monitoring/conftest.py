"""What tests of the engine share."""

from __future__ import annotations

import pytest

from monitoring.engine import waking
from tests.llm.server import chat_server

__all__ = ["chat_server"]


@pytest.fixture(autouse=True)
def woken(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Keep messages from the real broker; the list holds the batches that workers were asked for."""
    asked: list[int] = []
    monkeypatch.setattr(waking, "send", lambda batch_id, *, drivers=1: asked.append(batch_id))
    return asked
