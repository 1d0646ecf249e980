"""Django's sessions in the database, read by one prepared statement: each request of a person reads its own."""

from __future__ import annotations

from typing import Any

from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.utils import timezone

from core import statements

_SESSION = """
SELECT session_data FROM django_session WHERE session_key = %(key)s AND expire_date > %(now)s
"""


class SessionStore(DatabaseStore):
    """The sessions of django.contrib.sessions, row for row."""

    @classmethod
    def get_model_class(cls) -> Any:
        """Return the table's model; the models of the app are there only once it is loaded."""
        return DatabaseStore.get_model_class()

    def load(self) -> dict[str, Any]:
        """Return what the session holds; nothing, and a new key, for one that is not there or has ended."""
        found = statements.row(_SESSION, {"key": self.session_key, "now": timezone.now()})
        if found is None:
            self._session_key = None
            return {}
        return dict(self.decode(found[0]))
