"""Signing in by an OpenID provider, against a small one in this process."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from django.test import Client
from django.urls import reverse

from annotation.access import roles_in
from annotation.models import Study
from annotation.services.invitations import invite
from config import checks
from core import sudo
from core.models import ExternalIdentity, User

pytestmark = pytest.mark.django_db
BEGIN, BACK = "/accounts/openid/", "/accounts/openid/back/"
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


class Provider(ThreadingHTTPServer):
    """Answers for one person; a test changes what it says."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.claims: dict[str, Any] = {
            "sub": "s-1",
            "email": "Nora@example.org",
            "email_verified": True,
            "name": "Nora N",
        }
        self.token: dict[str, Any] = {}
        self.key = KEY
        self.nonce = self.challenge = ""
        self.status = 200


class _Handler(BaseHTTPRequestHandler):
    server: Provider

    def do_POST(self) -> None:
        body = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        verifier = body["code_verifier"][0].encode()
        digest = base64.urlsafe_b64encode(hashlib.sha256(verifier).digest()).rstrip(b"=").decode()
        if digest != self.server.challenge or body["client_secret"] != ["hush"]:
            self._say({"error": "invalid_grant"}, 400)
            return
        now = int(time.time())
        said = {
            "iss": self.server.url,
            "aud": "falsestep",
            "sub": self.server.claims["sub"],
            "iat": now,
            "exp": now + 300,
            "auth_time": now,
            "nonce": self.server.nonce,
        } | self.server.token
        said = {name: value for name, value in said.items() if value is not None}
        signed = jwt.encode(said, self.server.key, algorithm="RS256", headers={"kid": "k"})
        self._say({"access_token": "a", "id_token": signed, "token_type": "Bearer"}, self.server.status)

    def do_GET(self) -> None:
        if self.path == "/jwks":
            public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(KEY.public_key()))
            self._say({"keys": [public | {"kid": "k", "alg": "RS256", "use": "sig"}]})
        else:
            self._say(self.server.claims)

    def _say(self, content: dict[str, Any], status: int = 200) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def provider(settings: Any) -> Iterator[Provider]:
    with Provider() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        settings.OIDC_NAME = "Example"
        settings.OIDC_RP_CLIENT_ID, settings.OIDC_RP_CLIENT_SECRET = "falsestep", "hush"
        settings.OIDC_ISSUER = server.url
        settings.OIDC_OP_AUTHORIZATION_ENDPOINT = f"{server.url}/authorize"
        settings.OIDC_OP_TOKEN_ENDPOINT = f"{server.url}/token"
        settings.OIDC_OP_USER_ENDPOINT = f"{server.url}/userinfo"
        settings.OIDC_OP_JWKS_ENDPOINT = f"{server.url}/jwks"
        settings.AUTHENTICATION_BACKENDS = [*settings.AUTHENTICATION_BACKENDS, "core.oidc.Backend"]
        yield server
        server.shutdown()
        thread.join()


def _sign_in(client: Client, provider: Provider, **query: str) -> Any:
    there = client.get(BEGIN, query)
    asked = {name: values[0] for name, values in parse_qs(urlsplit(there["Location"]).query).items()}
    assert asked["code_challenge_method"] == "S256"
    provider.nonce, provider.challenge = asked["nonce"], asked["code_challenge"]
    return client.get(BACK, {"code": "c", "state": asked["state"]})


def _signed_in(client: Client) -> bool:
    return bool(client.get(reverse("tokens")).status_code == 200)


@pytest.fixture
def nora(db: None) -> User:
    return User.objects.create_user("nora", email="nora@example.org", password="correct-horse")


def test_without_a_provider_there_is_neither_button_nor_address(client: Client) -> None:
    assert "openid" not in client.get(reverse("login")).content.decode()
    assert client.get(BEGIN).status_code == 404
    assert client.get(BACK, {"code": "c", "state": "s"}).status_code == 404


def test_a_known_person_is_matched_by_verified_email_and_then_by_subject(
    client: Client, provider: Provider, nora: User
) -> None:
    assert "Sign in with Example" in client.get(reverse("login"), {"next": "/x/"}).content.decode()
    assert _sign_in(client, provider, next=reverse("tokens"))["Location"] == reverse("tokens")
    assert _signed_in(client)
    assert ExternalIdentity.objects.get().person == nora
    provider.claims |= {"email": "other@example.org", "email_verified": False}
    again = Client()
    _sign_in(again, provider)
    assert _signed_in(again)


@pytest.mark.parametrize(
    "claims",
    [
        {"email_verified": False},
        {"email_verified": "true"},
        {"email": "stranger@example.org"},
        {"email": None},
    ],
)
def test_whoever_is_not_invited_or_not_vouched_for_stays_outside(
    client: Client, provider: Provider, nora: User, claims: dict[str, Any]
) -> None:
    provider.claims |= claims
    assert _sign_in(client, provider)["Location"] == reverse("login")
    assert "not invited here" in client.get(reverse("login")).content.decode()
    assert not _signed_in(client)
    assert User.objects.count() == 1


@pytest.mark.parametrize(
    "token",
    [
        {"iss": "https://other.example"},
        {"aud": "another"},
        {"aud": ["falsestep", "another"]},
        {"exp": 1},
        {"exp": None},
        {"nonce": "forged"},
        {"sub": "s-2"},
    ],
)
def test_a_token_that_is_not_for_this_sign_in_is_refused(
    client: Client, provider: Provider, nora: User, token: dict[str, Any]
) -> None:
    provider.token = token
    assert _sign_in(client, provider)["Location"] == reverse("login")
    assert "Nothing was changed" in client.get(reverse("login")).content.decode()
    assert not _signed_in(client)


def test_a_forged_signature_and_a_broken_provider_are_no_error_of_ours(
    client: Client, provider: Provider, nora: User
) -> None:
    provider.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    assert _sign_in(client, provider).status_code == 302
    provider.key, provider.status = KEY, 500
    assert _sign_in(client, provider).status_code == 302
    assert client.get(BACK, {"code": "c", "state": "made up"}).status_code == 302
    assert client.get(BACK, {"error": "access_denied"}).status_code == 302
    assert not _signed_in(client)


def test_an_invited_person_is_made_with_the_roles_of_the_invitation(
    client: Client, provider: Provider, study: Study, olga: User
) -> None:
    invite(study=study, roles=["annotator"], name="Nora", email="nora@example.org", actor=olga)
    _sign_in(client, provider)
    assert _signed_in(client)
    person = User.objects.get(email="nora@example.org")
    assert roles_in(study, person) == {"annotator"}
    assert not person.has_usable_password()
    assert person.display_name == "Nora N"


def test_accounts_are_made_of_themselves_only_where_it_is_set(
    client: Client, provider: Provider, settings: Any
) -> None:
    settings.OIDC_CREATE_USER = True
    _sign_in(client, provider)
    assert _signed_in(client)
    assert not User.objects.get().memberships.exists()


def test_who_may_no_longer_sign_in_is_out_at_once(client: Client, provider: Provider, nora: User) -> None:
    _sign_in(client, provider)
    User.objects.update(is_active=False)
    assert not _signed_in(client)
    _sign_in(client, provider)
    assert not _signed_in(client)


def test_confirming_by_the_provider_needs_it_to_have_asked_just_now(
    client: Client, provider: Provider, nora: User
) -> None:
    provider.token = {"auth_time": int(time.time()) - 7200}
    _sign_in(client, provider)
    assert _signed_in(client)
    wanted = {"scopes": ["read"], "days": "1"}
    assert client.post(reverse("token_new"), wanted).status_code == 302
    assert "Confirm with Example" in client.get(reverse("confirm")).content.decode()
    there = client.get(BEGIN, {"again": "1"})["Location"]
    assert "prompt=login" in there
    assert "max_age=0" in there
    _sign_in(client, provider, again="1")
    assert client.post(reverse("token_new"), wanted).status_code == 302
    provider.token = {"auth_time": None}
    _sign_in(client, provider, again="1")
    assert client.post(reverse("token_new"), wanted).status_code == 302
    provider.token = {}
    _sign_in(client, provider, again="1")
    assert client.session[sudo.KEY] > 0
    assert client.post(reverse("token_new"), wanted).status_code == 200
    client.get(BACK, {"error": "access_denied"})
    assert _signed_in(client)


def test_a_provider_of_which_a_part_is_missing_is_an_error(settings: Any) -> None:
    assert checks.openid_is_whole(None) == []
    settings.OIDC_RP_CLIENT_ID = "falsestep"
    found = checks.openid_is_whole(None)
    assert [one.id for one in found] == ["falsestep.E003"]
    assert "FALSESTEP_OIDC_ISSUER" in found[0].msg
