"""Confirming who one is, changing the password, and how long a session lasts."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from core import sessions, sudo
from core.models import ApiToken, AuditEntry, User

pytestmark = pytest.mark.django_db


def _age(client: Client, **seconds: float) -> None:
    session = client.session
    for key, age in seconds.items():
        session[key] -= age
    session.save()


@pytest.fixture
def browser(client: Client, ana: User) -> Client:
    client.force_login(ana)
    return client


def test_a_token_asks_for_the_password_and_leads_back(browser: Client) -> None:
    _age(browser, **{sudo.KEY: 16 * 60})
    wanted = {"name": "script", "scopes": ["read"], "days": "10"}
    sent = browser.post(reverse("token_new"), wanted)
    assert sent["Location"] == "/accounts/confirm/?next=%2Faccounts%2Ftokens%2F"
    assert not ApiToken.objects.exists()
    assert "asked first" in browser.get(reverse("tokens")).content.decode()
    wrong = browser.post(reverse("confirm"), {"password": "no", "next": "/accounts/tokens/"})
    assert wrong.status_code == 422
    assert browser.post(reverse("token_new"), wanted).status_code == 302
    before = browser.session.session_key
    right = browser.post(reverse("confirm"), {"password": "correct-horse", "next": "/accounts/tokens/"})
    assert right["Location"] == "/accounts/tokens/"
    assert browser.session.session_key != before
    made = browser.post(reverse("token_new"), wanted)
    key = made.content.decode().split('value="fs_')[1].split('"')[0]
    assert made["Cache-Control"] == "no-store, private" or "no-store" in made["Cache-Control"]
    assert browser.get("/api/v1/me/", headers={"Authorization": f"Bearer fs_{key}"}).status_code == 200
    assert key not in browser.get(reverse("tokens")).content.decode()


def test_signing_in_counts_as_confirming_for_a_while_only(browser: Client, settings: Any) -> None:
    wanted = {"scopes": ["read"], "days": "10"}
    assert browser.post(reverse("token_new"), wanted).status_code == 200
    _age(browser, **{sudo.KEY: settings.SUDO_MINUTES * 60})
    assert browser.post(reverse("token_new"), wanted).status_code == 302


def test_a_time_in_the_future_confirms_nothing(browser: Client) -> None:
    _age(browser, **{sudo.KEY: -3600})
    assert browser.post(reverse("token_new"), {"scopes": ["read"], "days": "1"}).status_code == 302


@pytest.mark.parametrize("target", ["https://example.org/", "//example.org", "javascript:alert(1)", ""])
def test_confirming_never_leads_elsewhere(browser: Client, target: str) -> None:
    answer = browser.post(reverse("confirm"), {"password": "correct-horse", "next": target})
    assert answer["Location"] == reverse("home")


def test_confirming_is_throttled_like_signing_in(browser: Client) -> None:
    for _ in range(10):
        browser.post(reverse("confirm"), {"password": "no"})
    assert browser.post(reverse("confirm"), {"password": "correct-horse"}).status_code == 429


def test_bad_tokens_are_refused_in_words(browser: Client) -> None:
    for wanted in ({"days": "10"}, {"days": "x", "scopes": ["read"]}, {"days": "999", "scopes": ["read"]}):
        assert browser.post(reverse("token_new"), wanted).status_code == 422
    assert not ApiToken.objects.exists()


def test_a_new_password_ends_the_other_sessions(browser: Client, ana: User) -> None:
    other = Client()
    other.force_login(ana)
    fresh = "a-staple-for-the-battery"
    said = {"old_password": "correct-horse", "new_password1": fresh, "new_password2": fresh}
    assert browser.post(reverse("password"), said)["Location"] == reverse("home")
    assert browser.get(reverse("home")).status_code == 200
    assert other.get(reverse("home")).status_code == 302
    ana.refresh_from_db()
    assert ana.check_password(fresh)
    assert AuditEntry.objects.filter(action="password changed", subject="ana").exists()


@pytest.mark.parametrize("weak", ["short", "password1234", "1029384756102", "ana-ana-ana-a"[:5]])
def test_weak_passwords_are_refused(browser: Client, ana: User, weak: str) -> None:
    said = {"old_password": "correct-horse", "new_password1": weak, "new_password2": weak}
    assert browser.post(reverse("password"), said).status_code == 422
    ana.refresh_from_db()
    assert ana.check_password("correct-horse")


def test_an_idle_session_ends_and_leads_back_after_signing_in(browser: Client, settings: Any) -> None:
    _age(browser, **{sessions.SEEN: settings.IDLE_SECONDS + 1})
    answer = browser.get("/accounts/tokens/")
    assert answer["Location"] == "/accounts/login/?next=/accounts/tokens/"


def test_use_moves_the_idle_time_and_figures_that_move_by_themselves_do_not(browser: Client) -> None:
    _age(browser, **{sessions.SEEN: 3600})
    before = browser.session[sessions.SEEN]
    browser.get("/accounts/tokens/", headers={"HX-Request": "true"})
    assert browser.session[sessions.SEEN] == before
    browser.get("/accounts/tokens/")
    assert browser.session[sessions.SEEN] > before + 3000


def test_no_use_outlives_the_longest_session(browser: Client, settings: Any) -> None:
    _age(browser, **{sessions.BEGAN: settings.SESSION_SECONDS + 1})
    assert browser.get("/accounts/tokens/").status_code == 302


def test_signing_in_changes_the_session_and_its_csrf_token(client: Client, ana: User) -> None:
    client.get(reverse("login"))
    session = client.session
    session["x"] = 1
    session.save()
    before = session.session_key
    client.cookies["sessionid"] = before
    client.post(reverse("login"), {"username": "ana", "password": "correct-horse"})
    assert client.cookies["sessionid"].value != before
    assert client.cookies["sessionid"]["httponly"]
    assert client.cookies["sessionid"]["samesite"] == "Lax"
