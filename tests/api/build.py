"""A program that speaks to the API for a person."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from django.test import Client

from core.models import Scope, User
from core.tokens import issue_token

ROOT = "/api/v1/"


class Program:
    """Asks with a token of the person (all scopes, unless told) or, without a person, with none."""

    def __init__(self, person: User | None, *, scopes: Iterable[str] = Scope.values) -> None:
        self.client = Client(enforce_csrf_checks=True)
        self.headers = {}
        if person is not None:
            self.key = issue_token(person=person, scopes=scopes).key
            self.headers["Authorization"] = f"Bearer {self.key}"

    def ask(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """Send one request to an address under /api/v1/ and return the answer."""
        return self.client.generic(
            method,
            path if path.startswith("/") else ROOT + path,
            data=b"" if body is None else _json(body),
            content_type="application/json",
            headers=self.headers,
            query_params=query or None,
        )

    def get(self, path: str, **query: Any) -> Any:
        return self.ask("GET", path, **query)

    def post(self, path: str, body: Any = None) -> Any:
        return self.ask("POST", path, body)

    def put(self, path: str, body: Any = None) -> Any:
        return self.ask("PUT", path, body)


def _json(body: Any) -> bytes:
    return body if isinstance(body, bytes) else json.dumps(body).encode()


def error_of(answer: Any) -> dict[str, Any]:
    """Return the error of an answer; it must have the one shape."""
    content = answer.json()
    assert content.keys() == {"error"}, content
    assert {"code", "message"} <= content["error"].keys() <= {"code", "message", "fields"}
    assert content["error"]["message"]
    return dict(content["error"])
