"""Tokens and sessions: who may ask at all, and what a token's scopes leave open."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from annotation.models import Study
from core.errors import UserError
from core.models import ApiToken, AuditEntry, User
from core.tokens import digest_of, issue_token, revoke_token
from tests.annotation.build import make_traces
from tests.api.build import ROOT, Program, error_of

pytestmark = pytest.mark.django_db


def test_nobody_gets_401_as_json_and_no_redirect(study: Study) -> None:
    answer = Program(None).get(f"studies/{study.slug}/")
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert error_of(answer)["code"] == "not_authenticated"


def test_a_token_speaks_for_its_person(ana: User) -> None:
    program = Program(ana, scopes=["read"])
    content = program.get("me/").json()
    token = ApiToken.objects.get()
    assert content["username"] == "ana"
    assert content["token"]["prefix"] == token.prefix
    assert content["token"]["scopes"] == ["read"]


def test_only_the_hash_of_a_key_is_stored(ana: User) -> None:
    issued = issue_token(person=ana, scopes=["read"])
    stored = ApiToken.objects.values().get()
    assert issued.key.startswith(issued.token.prefix)
    secret = issued.key.removeprefix(issued.token.prefix)
    assert len(secret) > 40
    assert not any(secret in str(value) for value in stored.values())
    assert stored["digest"] == digest_of(issued.key)
    assert not any(secret in str(entry) for entry in AuditEntry.objects.values())


def _expired(token: ApiToken) -> None:
    then = timezone.now() - timedelta(days=10)
    ApiToken.objects.filter(pk=token.pk).update(created_at=then, expires_at=then + timedelta(days=9))


def _revoked(token: ApiToken) -> None:
    revoke_token(token=token, actor=token.person)


def _person_left(token: ApiToken) -> None:
    User.objects.filter(pk=token.person_id).update(is_active=False)


@pytest.mark.parametrize("close", [_expired, _revoked, _person_left])
def test_a_closed_token_opens_nothing_and_does_not_say_why(ana: User, close: Any) -> None:
    program = Program(ana)
    assert program.get("me/").status_code == 200
    close(ApiToken.objects.get())
    answer = program.get("me/")
    program.headers["Authorization"] = "Bearer fs_00000000_unknown"
    assert answer.status_code == 401
    assert answer.content == program.get("me/").content


@pytest.mark.parametrize(
    "header", ["Bearer", "Bearer a b", "Bearer \xe9", "Basic YTpi", "Bearer " + "x" * 9000]
)
def test_a_header_that_is_no_key_is_401(db: None, header: str) -> None:
    program = Program(None)
    program.headers["Authorization"] = header
    assert program.get("me/").status_code == 401


def test_scopes_limit_what_a_token_does(study: Study, ana: User) -> None:
    make_traces(study, 1)
    reader, labeller = Program(ana, scopes=["read"]), Program(ana, scopes=["label"])
    refused = reader.post(f"studies/{study.slug}/next/")
    assert refused.status_code == 403
    assert '"label"' in error_of(refused)["message"]
    assert labeller.post(f"studies/{study.slug}/next/").status_code == 200
    assert labeller.get(f"studies/{study.slug}/").status_code == 403
    assert reader.get(f"studies/{study.slug}/").status_code == 200


def test_a_scope_gives_no_role(study: Study, ana: User) -> None:
    assert Program(ana, scopes=["read", "operate"]).get(f"studies/{study.slug}/monitors/").status_code == 403


def test_a_session_reads_and_needs_the_csrf_token_to_write(study: Study, ana: User) -> None:
    make_traces(study, 1)
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(ana)
    address = f"{ROOT}studies/{study.slug}/next/"
    assert browser.get(f"{ROOT}me/").json()["token"] is None
    refused = browser.post(address, content_type="application/json")
    assert refused.status_code == 403
    assert "CSRF" in error_of(refused)["message"]
    browser.get("/accounts/tokens/")
    token = browser.cookies["csrftoken"].value
    kept = browser.post(address, content_type="application/json", headers={"X-CSRFToken": token})
    assert kept.status_code == 200


def test_the_hour_of_the_last_use_is_kept_and_not_written_again(
    ana: User, django_assert_max_num_queries: Any
) -> None:
    program = Program(ana)
    program.get("me/")
    used = ApiToken.objects.get().last_used_at
    assert used is not None
    assert (used.minute, used.second) == (0, 0)
    with django_assert_max_num_queries(1):
        program.get("me/")


@pytest.mark.parametrize(
    ("scopes", "days", "reason"),
    [
        ([], 90, "at least one scope"),
        (["write"], 90, 'no scope named "write"'),
        (["read"], 0, "1 to 366 days"),
    ],
)
def test_it_refuses_a_token_that_cannot_be(ana: User, scopes: list[str], days: int, reason: str) -> None:
    with pytest.raises(UserError, match=reason):
        issue_token(person=ana, scopes=scopes, days=days)
    assert not ApiToken.objects.exists()


@pytest.mark.parametrize("fields", [{"scopes": ""}, {"expires_at": timezone.now() - timedelta(days=1)}])
def test_the_database_refuses_a_bad_token(ana: User, fields: dict[str, Any]) -> None:
    now = timezone.now()
    good = {
        "person": ana,
        "prefix": "fs_1",
        "digest": "0" * 64,
        "scopes": "read",
        "created_at": now,
        "expires_at": now + timedelta(days=1),
    }
    with pytest.raises(IntegrityError), transaction.atomic():
        ApiToken.objects.create(**{**good, **fields})
    ApiToken.objects.create(**good)


def test_people_see_and_revoke_their_own_tokens_only(client: Client, ana: User, eve: User) -> None:
    mine = issue_token(person=ana, scopes=["read", "label"], name="my laptop")
    hers = issue_token(person=eve, scopes=["read"])
    client.force_login(ana)
    page = client.get("/accounts/tokens/").content.decode()
    assert mine.token.prefix in page and "my laptop" in page
    assert hers.token.prefix not in page
    assert client.post(f"/accounts/tokens/{hers.token.prefix}/revoke/").status_code == 404
    address = f"/accounts/tokens/{mine.token.prefix}/revoke/"
    assert client.get(address).status_code == 405
    for _ in range(2):
        assert client.post(address, follow=True).status_code == 200
    assert ApiToken.objects.get(pk=mine.token.pk).revoked_at is not None
    assert ApiToken.objects.get(pk=hers.token.pk).revoked_at is None
    assert AuditEntry.objects.filter(action="token revoked").count() == 1
    assert "revoked" in client.get("/accounts/tokens/").content.decode()


def test_the_page_without_tokens_offers_one(client: Client, ana: User) -> None:
    client.force_login(ana)
    page = client.get("/accounts/tokens/").content.decode()
    assert "You have no tokens" in page
    assert 'name="scopes"' in page
