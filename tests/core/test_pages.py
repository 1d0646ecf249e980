"""Sign-in, theme, errors and the font: what every page stands on."""

from __future__ import annotations

import pytest
from django.contrib.staticfiles import finders
from django.db import InterfaceError, OperationalError
from django.test import Client
from django.urls import reverse

from annotation.models import Study
from core.finders import PackageFontFinder
from core.models import User
from tests.adjudication.build import make_dispute

pytestmark = pytest.mark.django_db


def test_signing_in_leads_home_and_out_again(client: Client, ana: User) -> None:
    response = client.post(reverse("login"), {"username": "ana", "password": "correct-horse"}, follow=True)
    assert response.redirect_chain[-1][0] == reverse("home")
    assert client.get(reverse("logout")).status_code == 405
    assert client.post(reverse("logout"))["Location"] == reverse("login")
    assert client.get(reverse("home")).status_code == 302


def test_a_wrong_password_is_told_without_saying_which_half_is_wrong(client: Client, ana: User) -> None:
    texts = set()
    for username in ("ana", "nobody"):
        html = client.post(reverse("login"), {"username": username, "password": "x"}).content.decode()
        assert "do not belong together" in html
        texts.add(html.split('role="alert">')[1].split("</div>")[0])
    assert len(texts) == 1


def test_the_theme_is_kept_in_a_cookie_and_set_by_the_server(client: Client) -> None:
    response = client.post(reverse("theme"), {"theme": "dark", "next": reverse("login")})
    assert response["Location"] == reverse("login")
    assert 'data-theme="dark"' in client.get(reverse("login")).content.decode()
    client.post(reverse("theme"), {"theme": "<script>"})
    assert 'data-theme="dark"' in client.get(reverse("login")).content.decode()
    client.cookies["theme"] = '"><script>'
    assert 'data-theme="system"' in client.get(reverse("login")).content.decode()
    assert client.get(reverse("theme")).status_code == 405


@pytest.mark.parametrize("target", ["https://example.org/", "//example.org", "javascript:alert(1)", ""])
def test_the_theme_never_leads_elsewhere(client: Client, target: str) -> None:
    assert client.post(reverse("theme"), {"theme": "light", "next": target})["Location"] == reverse("home")


def test_a_missing_page_speaks_plainly(client: Client, ana: User) -> None:
    client.force_login(ana)
    response = client.get("/nowhere/")
    assert response.status_code == 404
    assert "There is nothing here" in response.content.decode()


def test_a_closed_page_says_why(client: Client, study: Study, ana: User, adam: User) -> None:
    client.force_login(ana)
    refused = client.get(reverse("people", args=[study.slug]))
    assert refused.status_code == 403
    assert "This page belongs to another role in the study." in refused.content.decode()
    make_dispute(study)
    client.force_login(adam)
    refused = client.get(reverse("study_graders_latest", args=[study.slug]))
    assert refused.status_code == 403
    assert "What monitors said stays closed to a lead while disputes are open." in refused.content.decode()


def test_a_failure_has_a_page_that_needs_nothing(client: Client, ana: User) -> None:
    from django.template.loader import get_template

    assert "What was saved before is safe" in get_template("500.html").render()


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (OperationalError("the database system is starting up"), 503, "Load this page again in a moment"),
        (InterfaceError("connection already closed"), 503, "Load this page again in a moment"),
        (ValueError("a mistake of ours"), 500, "Something failed on our side"),
    ],
)
def test_while_the_database_is_away_the_page_says_to_try_again(
    client: Client, ana: User, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int, words: str
) -> None:
    def fail(*_: object) -> None:
        raise error

    client.force_login(ana)
    client.raise_request_exception = False
    monkeypatch.setattr("core.session_rows.SessionStore.load", fail)
    response = client.get(reverse("home"))
    assert response.status_code == status
    assert words in response.content.decode()
    assert response.headers.get("Retry-After") == ("5" if status == 503 else None)


def test_the_pages_forbid_inline_script_and_style(client: Client) -> None:
    policy = client.get(reverse("login"))["Content-Security-Policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy


def test_the_font_comes_from_its_package_and_nothing_else_does() -> None:
    found = finders.find("fonts/STIXTwoMath-Regular.ttf")
    assert isinstance(found, str)
    assert found.endswith("STIXTwoMath-Regular.ttf")
    finder = PackageFontFinder()
    for path in ("fonts/__init__.py", "fonts/../zmath.py", "STIXTwoMath-Regular.ttf", "fonts/"):
        assert finder.find(path) == []
    assert [name for name, _ in finder.list([])] == ["STIXTwoMath-Regular.ttf"]
