"""`manage.py add_token` and `revoke_token`."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command

from core.models import ApiToken
from core.tokens import issue_token, token_of_key
from tests.build import make_person

pytestmark = pytest.mark.django_db


def test_it_prints_the_key_once(capsys: pytest.CaptureFixture[str]) -> None:
    person = make_person("ana")
    call_command("add_token", "ana", "--scope", "read", "--scope", "label", "--days", "7", "--name", "laptop")
    key = capsys.readouterr().out.split()[-1]
    token = token_of_key(key)
    assert token == ApiToken.objects.get()
    assert token is not None
    assert (token.person, token.scope_words, token.name) == (person, ["read", "label"], "laptop")
    assert (token.expires_at - token.created_at).days == 7


def test_it_refuses_somebody_unknown() -> None:
    with pytest.raises(CommandError, match='nobody is named "nina"'):
        call_command("add_token", "nina", "--scope", "read")


@pytest.mark.parametrize("days", ["0", "367"])
def test_it_refuses_days_that_cannot_be(days: str) -> None:
    make_person("ana")
    with pytest.raises(CommandError, match="1 to 366 days"):
        call_command("add_token", "ana", "--scope", "read", "--days", days)


def test_it_refuses_an_unknown_scope() -> None:
    with pytest.raises(CommandError, match="invalid choice"):
        call_command("add_token", "ana", "--scope", "everything")


def test_a_token_is_revoked_by_its_beginning(capsys: pytest.CaptureFixture[str]) -> None:
    issued = issue_token(person=make_person("ana"), scopes=["read"])
    call_command("revoke_token", issued.token.prefix)
    assert token_of_key(issued.key) is None
    assert "is revoked" in capsys.readouterr().out
    call_command("revoke_token", issued.token.prefix)
    assert "revoked already" in capsys.readouterr().out


def test_an_unknown_token_is_not_revoked() -> None:
    with pytest.raises(CommandError, match='no token begins with "fs_0"'):
        call_command("revoke_token", "fs_0")
