"""The health address tells a supervisor whether this process can serve."""

from __future__ import annotations

import pytest
from django.db import DatabaseError, connection
from django.test import Client


@pytest.mark.django_db
def test_it_answers_without_signing_in() -> None:
    response = Client().get("/healthz")
    assert (response.status_code, response.content) == (200, b"ok\n")


@pytest.mark.django_db
def test_it_says_503_when_the_database_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise DatabaseError("gone")

    monkeypatch.setattr(connection, "cursor", broken)
    assert Client().get("/healthz").status_code == 503


@pytest.mark.django_db
def test_it_refuses_to_be_written_to() -> None:
    assert Client().post("/healthz").status_code == 405
