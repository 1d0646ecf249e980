"""Tries to sign in are counted for everybody together, and shut nobody out for long."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.hashers import MD5PasswordHasher
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone

from core import throttle
from core.models import SignInFailure, User

pytestmark = pytest.mark.django_db
LOGIN = "/accounts/login/"


def _try(client: Client, name: str = "ana", password: str = "wrong", address: str = "192.0.2.1") -> Any:
    return client.post(LOGIN, {"username": name, "password": password}, REMOTE_ADDR=address)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[datetime]:
    """A clock that stands until a test moves it."""
    at = [timezone.now()]
    monkeypatch.setattr(timezone, "now", lambda: at[0])
    return at


def test_an_account_takes_ten_wrong_tries_and_then_none_for_a_while(ana: User, clock: list[datetime]) -> None:
    client = Client()
    for _ in range(10):
        assert _try(client).status_code == 200
    refused = _try(client, password="correct-horse")
    assert refused.status_code == 429
    assert refused["Retry-After"] == str(15 * 60)
    assert "wait at most 15 minutes" in refused.content.decode()
    assert _try(client, name="ANA ", address="203.0.113.9").status_code == 429
    clock[0] += timedelta(minutes=15, seconds=1)
    assert _try(client, password="correct-horse").status_code == 302


def test_what_is_refused_unseen_does_not_keep_the_door_shut(ana: User, clock: list[datetime]) -> None:
    client = Client()
    for _ in range(10):
        _try(client)
    for _ in range(5):
        clock[0] += timedelta(minutes=3)
        assert _try(client, password="correct-horse").status_code == 429
    clock[0] += timedelta(seconds=1)
    assert _try(client, password="correct-horse").status_code == 302


def test_strangers_cannot_shut_out_a_browser_that_signed_in_before(ana: User) -> None:
    mine = Client()
    assert _try(mine, password="correct-horse").status_code == 302
    mine.post(reverse("logout"))
    stranger = Client()
    for _ in range(11):
        _try(stranger, address="203.0.113.9")
    assert _try(stranger, password="correct-horse", address="203.0.113.9").status_code == 429
    assert _try(mine, password="correct-horse").status_code == 302


def test_the_cookie_of_a_known_browser_is_worth_nothing_for_another_account(ana: User, adam: User) -> None:
    client = Client()
    _try(client, password="correct-horse")
    for _ in range(10):
        _try(client, name="adam")
    assert _try(client, name="adam", password="correct-horse").status_code == 429
    client.cookies[throttle.COOKIE] = "forged"
    assert _try(client, name="ana", password="correct-horse").status_code == 302


def test_an_address_that_tries_many_accounts_is_stopped(ana: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(throttle.LIMITS, SignInFailure.Kind.ADDRESS, 4)
    for number in range(4):
        assert _try(Client(), name=f"somebody{number}").status_code == 200
    assert _try(Client(), password="correct-horse").status_code == 429
    assert _try(Client(), password="correct-horse", address="203.0.113.9").status_code == 302


def test_a_right_password_counts_for_nothing(ana: User) -> None:
    for _ in range(12):
        assert _try(Client(), password="correct-horse").status_code == 302
    assert not SignInFailure.objects.exists()


def test_unknown_accounts_cost_as_much_and_answer_the_same(
    ana: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed: list[str] = []
    encode = MD5PasswordHasher.encode
    monkeypatch.setattr(
        MD5PasswordHasher, "encode", lambda self, *a, **k: hashed.append("x") or encode(self, *a, **k)
    )
    User.objects.create(username="keyless", password="!")
    User.objects.create_user("gone", password="correct-horse", is_active=False)
    costs, texts = set(), set()
    for name in ("ana", "nobody", "keyless", "gone"):
        hashed.clear()
        for _ in range(11):
            answer = _try(Client(), name=name, address=f"192.0.2.{len(name)}")
        costs.add(len(hashed))
        texts.add(answer.content.decode().split('role="alert">')[1].split("</div>")[0])
    assert costs == {10}
    assert len(texts) == 1


def test_neither_name_nor_address_is_kept(ana: User) -> None:
    _try(Client(), name="my secret password")
    assert {len(key) for key in SignInFailure.objects.values_list("key", flat=True)} == {64}


@pytest.mark.parametrize(
    ("proxies", "said", "expected"),
    [
        (0, "203.0.113.7", "192.0.2.1"),
        (1, "203.0.113.7", "203.0.113.7"),
        (1, "198.51.100.1, 203.0.113.7", "203.0.113.7"),
        (2, "6.6.6.6, 198.51.100.1, 203.0.113.7", "198.51.100.1"),
        (2, "203.0.113.7", "192.0.2.1"),
    ],
)
def test_only_trusted_proxies_tell_the_address(settings: Any, proxies: int, said: str, expected: str) -> None:
    settings.PROXIES = proxies
    request = RequestFactory().get("/", REMOTE_ADDR="192.0.2.1", HTTP_X_FORWARDED_FOR=said)
    assert throttle.address_of(request) == expected


def test_one_customer_of_ipv6_is_one_address() -> None:
    networks = {throttle._network(f"2001:db8:1:2::{number:x}") for number in range(5)}
    assert len(networks) == 1
    assert throttle._network("::ffff:192.0.2.1") == "192.0.2.1"
