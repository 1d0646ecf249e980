"""Invitations: a link that works once, and never for what its maker could not give by it."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.access import roles_in
from annotation.models import Invitation, Role, Study
from annotation.services import invitations
from core import sudo
from core.models import AuditEntry, User
from core.tokens import digest_of
from tests.build import make_person

pytestmark = pytest.mark.django_db
PASSWORD = "a-staple-for-the-battery"
JOIN = {"username": "nora", "display_name": "Nora", "password": PASSWORD, "again": PASSWORD}


def _key(study: Study, olga: User, *, roles: tuple[Role, ...] = (Role.ANNOTATOR,), **fields: object) -> str:
    return invitations.invite(study=study, roles=roles, name="Nora", actor=olga, **fields).key  # type: ignore[arg-type]


def _link(key: str) -> str:
    return reverse("invitation", args=[key])


def test_an_administrator_makes_a_link_and_a_new_person_joins_by_it(
    client: Client, study: Study, olga: User
) -> None:
    client.force_login(olga)
    said = {"name": "Nora", "roles": ["annotator", "lead"], "days": "3", "email": "nora@example.org"}
    page = client.post(reverse("invite", args=[study.slug]), said).content.decode()
    link = page.split('value="http://testserver')[1].split('"')[0]
    assert link.split("/")[-2] not in client.get(reverse("people", args=[study.slug])).content.decode()
    stranger = Client()
    assert "You are invited to Optics pilot" in stranger.get(link).content.decode()
    assert stranger.post(link, JOIN)["Location"] == reverse("study", args=[study.slug])
    assert stranger.get(reverse("study", args=[study.slug])).status_code == 200
    nora = User.objects.get(username="nora")
    assert roles_in(study, nora) == {"annotator", "lead"}
    assert nora.email == "nora@example.org"
    assert Client().get(link).status_code == 404
    assert Client().post(link, JOIN | {"username": "other"}).status_code == 404
    said_in_trail = set(AuditEntry.objects.filter(chain__scope=study.slug).values_list("action", flat=True))
    assert {"person invited", "invitation accepted", "role given"} <= said_in_trail
    assert not AuditEntry.objects.filter(payload__icontains=link.split("/")[-2]).exists()


def test_making_a_link_asks_for_the_password(client: Client, study: Study, olga: User) -> None:
    client.force_login(olga)
    session = client.session
    session[sudo.KEY] -= 3600
    session.save()
    answer = client.post(reverse("invite", args=[study.slug]), {"name": "N", "roles": ["lead"], "days": "3"})
    assert answer["Location"].startswith(reverse("confirm"))
    assert not Invitation.objects.exists()


def test_somebody_who_is_signed_in_joins_as_they_are(
    client: Client, study: Study, olga: User, eve: User
) -> None:
    link = _link(_key(study, olga))
    client.force_login(eve)
    assert "Join as Eve" in client.get(link).content.decode()
    assert client.post(link).status_code == 302
    assert roles_in(study, eve) == {"annotator"}


def test_a_member_gets_no_further_role_by_a_link(client: Client, study: Study, olga: User) -> None:
    link = _link(_key(study, olga, roles=(Role.LEAD,)))
    client.force_login(olga)
    answer = client.post(link)
    assert answer.status_code == 422
    assert "in this study already" in answer.content.decode()
    assert roles_in(study, olga) == {"administrator"}


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"username": "olga"}, "is taken"),
        ({"username": "OLGA"}, "is taken"),
        ({"username": "a b"}, "cannot be a user name"),
        ({"password": "short", "again": "short"}, "too short"),
        ({"password": "password1234", "again": "password1234"}, "too common"),
        ({"again": "another"}, "differ"),
    ],
)
def test_what_cannot_be_is_said_and_the_link_stays_open(
    study: Study, olga: User, changed: dict[str, str], said: str
) -> None:
    link = _link(_key(study, olga))
    answer = Client().post(link, JOIN | changed)
    assert answer.status_code == 422
    assert said in answer.content.decode()
    assert Client().post(link, JOIN).status_code == 302


def test_a_link_ends_by_time_and_by_being_taken_back(
    client: Client, study: Study, olga: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = _key(study, olga), _key(study, olga, days=1)
    client.force_login(olga)
    made = Invitation.objects.get(digest=digest_of(first))
    for _ in range(2):
        client.post(reverse("invitation_revoke", args=[study.slug, made.pk]))
    assert AuditEntry.objects.filter(action="invitation revoked").count() == 1
    assert Client().post(_link(first), JOIN).status_code == 404
    later: datetime = timezone.now() + timedelta(days=1)
    monkeypatch.setattr(timezone, "now", lambda: later)
    assert Client().post(_link(second), JOIN).status_code == 404
    assert not User.objects.filter(username="nora").exists()


def test_of_two_who_hold_the_link_one_gets_in(study: Study, olga: User, eve: User) -> None:
    key = _key(study, olga)
    held = [invitations.open_invitation(key), invitations.open_invitation(key)]
    assert held[0] is not None
    assert held[1] is not None
    invitations.accept(invitation=held[0], person=eve)
    with pytest.raises(invitations.NotOpen):
        invitations.accept(invitation=held[1], person=make_person("fay"))


def test_invitations_of_another_study_are_not_found(client: Client, study: Study, olga: User) -> None:
    other = Study.objects.create(slug="other", name="Other")
    invitations.invite(study=other, roles=["lead"], name="X", actor=None)
    client.force_login(olga)
    number = Invitation.objects.get().pk
    assert client.post(reverse("invitation_revoke", args=[study.slug, number])).status_code == 404


@pytest.mark.parametrize(
    "wrong", [{"roles": []}, {"roles": ["king"]}, {"name": " "}, {"days": 0}, {"days": 31}, {"email": "nora"}]
)
def test_bad_invitations_are_refused(study: Study, olga: User, wrong: dict[str, object]) -> None:
    good: dict[str, object] = {"roles": ["lead"], "name": "N"}
    with pytest.raises(invitations.Unfit):
        invitations.invite(study=study, actor=olga, **(good | wrong))  # type: ignore[arg-type]


def test_the_database_refuses_what_cannot_be(study: Study, olga: User) -> None:
    _key(study, olga)
    now = timezone.now()
    for bad in (
        {"roles": ""},
        {"expires_at": now - timedelta(days=1)},
        {"accepted_at": now},
        {"accepted_at": now, "accepted_by": olga, "revoked_at": now},
    ):
        with pytest.raises(IntegrityError), transaction.atomic():
            Invitation.objects.update(**bad)


def test_each_study_has_a_canary_of_its_own(study: Study) -> None:
    other = Study.objects.create(slug="other", name="Other")
    assert study.canary.startswith("falsestep-canary-")
    assert study.canary != other.canary
