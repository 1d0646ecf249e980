"""The cast, and what every test may rely on.

ana annotates, adam adjudicates, olga operates (administrator); eve belongs to no study and must see nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from django.db.backends.sqlite3 import base as sqlite

from annotation.models import Role, Study
from core.models import User
from tests.build import make_person, make_study

# On a machine that is busy a time limit per example only says that it is busy.
hypothesis.settings.register_profile("suite", deadline=None)
hypothesis.settings.load_profile("suite")

ROOT = Path(__file__).resolve().parent.parent
REQUIRE_ALL = os.environ.get("FALSESTEP_REQUIRE_ALL") == "1"


def skip_or_fail(reason: str) -> None:
    """Skip with the reason, or fail when FALSESTEP_REQUIRE_ALL=1 says that nothing may be skipped."""
    if REQUIRE_ALL:
        pytest.fail(f"FALSESTEP_REQUIRE_ALL=1, yet: {reason}", pytrace=False)
    pytest.skip(reason)


def shared_folder() -> Path | None:
    """Return the folder of shared data: FALSESTEP_SHARED, or ../shared beside the checkout."""
    for candidate in (os.environ.get("FALSESTEP_SHARED"), ROOT.parent / "shared"):
        if candidate and Path(candidate).is_dir():
            return Path(candidate)
    return None


@pytest.fixture(scope="session")
def shared() -> Path:
    """The shared data folder; the test is skipped without it."""
    folder = shared_folder()
    if folder is None:
        skip_or_fail("no shared data: set FALSESTEP_SHARED")
    assert folder is not None
    return folder


@pytest.fixture(scope="session", autouse=True)
def _flush_past_the_guards() -> Iterator[None]:
    """Let the flush after a transactional test on SQLite empty guarded tables, then put the guards back.

    PostgreSQL's TRUNCATE passes row triggers by itself. For the whole session: a fixture of a test would be
    torn down before the flush.
    """
    original = sqlite.DatabaseOperations.sql_flush

    def sql_flush(self: Any, *args: Any, **kwargs: Any) -> list[str]:
        with self.connection.cursor() as cursor:
            cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
            triggers = cursor.fetchall()
        drop = [f"DROP TRIGGER {name}" for name, _ in triggers]
        return drop + original(self, *args, **kwargs) + [sql for _, sql in triggers]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite.DatabaseOperations, "sql_flush", sql_flush)
        yield


@pytest.fixture(autouse=True)
def _fast_passwords(settings: Any) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(autouse=True)
def _own_counts(settings: Any) -> None:
    """Count in this process: clearing a cache in Redis would empty the broker beside it."""
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}


@pytest.fixture
def study(db: None) -> Study:
    """An empty study with the cast in it."""
    return make_study(slug="optics", name="Optics pilot")


@pytest.fixture
def ana(study: Study) -> User:
    return make_person("ana", study=study, roles=[Role.ANNOTATOR])


@pytest.fixture
def adam(study: Study) -> User:
    return make_person("adam", study=study, roles=[Role.LEAD])


@pytest.fixture
def olga(study: Study) -> User:
    return make_person("olga", study=study, roles=[Role.ADMINISTRATOR])


@pytest.fixture
def eve(db: None) -> User:
    return make_person("eve")
