"""The health address tells a supervisor whether this process can serve."""

from __future__ import annotations

from typing import Any

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


@pytest.mark.django_db
def test_it_answers_by_number_without_tls_whatever_the_site_is_called(settings: Any) -> None:
    settings.SECURE_SSL_REDIRECT, settings.ALLOWED_HOSTS = True, ["falsestep.example"]
    assert Client().get("/healthz", headers={"host": "127.0.0.1:8000"}).status_code == 200
    assert Client().get("/accounts/login/", headers={"host": "127.0.0.1:8000"}).status_code == 400
    assert Client().get("/accounts/login/", headers={"host": "falsestep.example"}).status_code == 301
