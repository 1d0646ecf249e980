"""Django's password backend, with the signed-in person read by one prepared statement."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.backends import ModelBackend

from core import statements
from core.models import User

_USERS = statements.Columns(User)
_PERSON = f"SELECT {_USERS.of('u')} FROM core_user u WHERE u.id = %(person)s"  # noqa: S608 - our own columns


class PeopleBackend(ModelBackend):
    """People who sign in with a password; only those who are active."""

    def get_user(self, user_id: Any) -> User | None:
        """Return the person of a session, None for one who is gone or no longer active."""
        found = statements.row(_PERSON, {"person": int(user_id)})
        person = _USERS.build(found) if found else None
        return person if self.user_can_authenticate(person) else None
