"""People are added with roles, once; a first password is told once and never stored in the clear."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Membership, Role, Study
from annotation.services.people import add_person
from core import audit
from core.errors import UserError
from core.models import AuditEntry, User

pytestmark = pytest.mark.django_db


def test_a_new_person_can_sign_in_with_the_printed_password(study: Study) -> None:
    out = StringIO()
    roles = ["--role", "annotator", "--role", "lead"]
    call_command("add_person", "fay", "--study", study.slug, *roles, "--name", "Fay", stdout=out)
    password = out.getvalue().splitlines()[0].rsplit(" ", 1)[1]
    fay = User.objects.get(username="fay")
    assert fay.check_password(password)
    assert set(fay.memberships.values_list("role", flat=True)) == {"annotator", "lead"}


def test_adding_twice_changes_nothing_and_says_so(study: Study) -> None:
    add_person(username="fay", study=study, roles=[Role.ANNOTATOR])
    out = StringIO()
    call_command("add_person", "fay", "--study", study.slug, "--role", "annotator", stdout=out)
    assert "nothing new" in out.getvalue()
    assert Membership.objects.filter(person__username="fay").count() == 1


def test_the_audit_trail_tells_of_it_without_the_password(study: Study) -> None:
    added = add_person(username="fay", study=study, roles=[Role.LEAD])
    assert added.password
    assert set(AuditEntry.objects.values_list("action", flat=True)) == {"person added", "role given"}
    assert all(added.password not in str(entry.payload) for entry in AuditEntry.objects.all())
    assert list(audit.verify()) == []


@pytest.mark.parametrize("name", ["", "two words", "x" * 151, "semi;colon"])
def test_it_refuses_what_cannot_be_a_user_name(study: Study, name: str) -> None:
    with pytest.raises(UserError):
        add_person(username=name, study=study, roles=[Role.LEAD])
    assert not User.objects.exists()


def test_the_command_names_the_studies_that_exist(study: Study) -> None:
    with pytest.raises(CommandError, match=f"there are: {study.slug}") as refusal:
        call_command("add_person", "fay", "--study", "nowhere", "--role", "lead")
    assert refusal.value.returncode == 1
