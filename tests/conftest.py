"""The cast, and what every test may rely on.

ana annotates, adam adjudicates, olga operates (administrator); eve belongs to no study and must see nothing.
"""

from __future__ import annotations

import fcntl
import gc
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from django.db import connection
from django.db.backends.postgresql import operations as postgresql
from django.db.backends.sqlite3 import base as sqlite
from django.db.backends.sqlite3 import creation
from whitenoise.middleware import WhiteNoiseMiddleware

from annotation.models import Role, Study
from core.models import User
from tests.build import make_person, make_study
from tests.scheduling import ByFile

# On a machine that is busy a time limit per example only says that it is busy.
hypothesis.settings.register_profile("suite", deadline=None)
hypothesis.settings.load_profile("suite")

ROOT = Path(__file__).resolve().parent.parent
REQUIRE_ALL = os.environ.get("FALSESTEP_REQUIRE_ALL") == "1"


def pytest_collection_finish() -> None:
    """Spare the collector what lives as long as the process: it would walk all tests again and again."""
    gc.collect()
    gc.freeze()


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile:
    """Hand the tests out by file, the longest first."""
    return ByFile(config, log)


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


# Django's own tables of models and permissions are the same after each flush: they are left as they are.
KEPT_TABLES = {"django_content_type", "auth_permission"}


def _filled(database: Any, tables: list[str]) -> list[str]:
    """Return the tables that hold rows; most are empty after most tests."""
    wanted = [name for name in tables if name not in KEPT_TABLES]
    query = " UNION ALL ".join(f"SELECT '{name}' WHERE EXISTS (SELECT 1 FROM \"{name}\")" for name in wanted)
    with database.cursor() as cursor:
        cursor.execute(query)
        return [name for (name,) in cursor.fetchall()]


@pytest.fixture(scope="session", autouse=True)
def _flush_past_the_guards() -> Iterator[None]:
    """Let the flush after a transactional test empty guarded tables, and no others than those with rows.

    SQLite drops the guards and puts them back; PostgreSQL passes them over, as for a replica, which costs less
    than a TRUNCATE of every table. For the whole session: a fixture of a test would be torn down before the flush.
    """

    def on_sqlite(self: Any, style: Any, tables: list[str], **kwargs: Any) -> list[str]:
        filled = _filled(self.connection, tables)
        with self.connection.cursor() as cursor:
            cursor.execute("SELECT name, tbl_name, sql FROM sqlite_master WHERE type = 'trigger'")
            guards = [(name, sql) for name, table, sql in cursor.fetchall() if table in filled]
        drop = [f"DROP TRIGGER {name}" for name, _ in guards]
        return drop + [f'DELETE FROM "{name}"' for name in filled] + [sql for _, sql in guards]

    truncated = postgresql.DatabaseOperations.sql_flush

    def on_postgresql(self: Any, style: Any, tables: list[str], **kwargs: Any) -> list[str]:
        with self.connection.cursor() as cursor:
            cursor.execute("SELECT current_setting('is_superuser')")
            if cursor.fetchone() != ("on",):  # others may not pass guards over
                passed_over: list[str] = truncated(self, style, tables, **kwargs)
                return passed_over
        delete = [f'DELETE FROM "{name}"' for name in _filled(self.connection, tables)]
        roles = (
            "SET LOCAL session_replication_role = replica",
            "SET LOCAL session_replication_role = origin",
        )
        return [roles[0], *delete, roles[1]] if delete else []

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite.DatabaseOperations, "sql_flush", on_sqlite)
        patch.setattr(postgresql.DatabaseOperations, "sql_flush", on_postgresql)
        yield


@pytest.fixture(scope="session")
def _template(tmp_path_factory: pytest.TempPathFactory, django_db_blocker: Any) -> Iterator[Template]:
    """The migrated database of the first process that gets here; the others wait for it and copy it."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID") or str(os.getpid())
    template = Template(tmp_path_factory.getbasetemp().parent / f"migrated-{run}.sqlite3")
    with pytest.MonkeyPatch.context() as patch:
        template.begin(patch)
        yield template
    with django_db_blocker.unblock():
        template.drop()


class Template:
    """Migrations are run once for all processes of a run: a file on SQLite, a database on PostgreSQL."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._name = ""
        self._keeper: sqlite3.Connection | None = None

    def begin(self, patch: pytest.MonkeyPatch) -> None:
        """Take the turn; let the test database begin as a copy, if there is one to copy."""
        self._turn = self._path.with_suffix(".lock").open("w")
        fcntl.flock(self._turn, fcntl.LOCK_EX)
        if not self._path.exists():
            return
        if connection.vendor == "postgresql":
            patch.setitem(connection.settings_dict["TEST"], "TEMPLATE", self._path.read_text())
            return
        create = creation.DatabaseCreation._create_test_db

        def copied(made: Any, *args: Any, **kwargs: Any) -> str:
            name: str = create(made, *args, **kwargs)
            # A database in memory lives as long as a connection to it.
            self._keeper = sqlite3.connect(name, uri=True)
            with closing(sqlite3.connect(self._path)) as source:
                source.backup(self._keeper)
            return name

        patch.setattr(creation.DatabaseCreation, "_create_test_db", copied)

    def end(self) -> None:
        """Keep the migrated database for those who wait, and let them go on."""
        if self._keeper is not None:
            self._keeper.close()
        # Without a connection there is no test database: no test of this process wants one.
        if connection.connection is not None and not self._path.exists():
            if connection.vendor == "postgresql":
                source = connection.settings_dict["NAME"]
                self._name = f"{source}_migrated"
                connection.close()
                self._sql(f'DROP DATABASE IF EXISTS "{self._name}"')
                self._sql(f'CREATE DATABASE "{self._name}" TEMPLATE "{source}"')
                self._path.write_text(self._name)
            else:
                with closing(sqlite3.connect(self._path)) as kept:
                    connection.connection.backup(kept)
        self._turn.close()

    @property
    def kept(self) -> str:
        """What to copy: the path of a file on SQLite, the name of a database on PostgreSQL; "" if there is none."""
        if not self._path.exists():
            return ""
        return self._path.read_text() if connection.vendor == "postgresql" else str(self._path)

    def drop(self) -> None:
        """Remove the database that was kept."""
        if self._name:
            self._path.unlink()
            self._sql(f'DROP DATABASE IF EXISTS "{self._name}"')

    @staticmethod
    def _sql(statement: str) -> None:
        with connection._nodb_cursor() as cursor:
            cursor.execute(statement)


@pytest.fixture(scope="session")
def django_db_setup(_template: Template, django_db_setup: None, django_db_blocker: Any) -> None:
    """The test database, its migrations run by one process of the run only."""
    with django_db_blocker.unblock():
        _template.end()


@pytest.fixture(scope="session")
def migrated(_template: Template, django_db_setup: None) -> str:
    """A migrated database for whole installations to copy: a file on SQLite, a name on PostgreSQL.

    Empty if no test of the run wants a database (`django_db`).
    """
    return _template.kept


@pytest.fixture(scope="session", autouse=True)
def _static_files_listed_once() -> Iterator[None]:
    """Every test's client loads the middleware, and WhiteNoise would walk all static files for each."""
    listed: dict[str, Any] = {}
    walk = WhiteNoiseMiddleware.add_files_from_finders

    def remembered(self: Any) -> None:
        if not listed:
            walk(self)
            listed.update(self.files)
        self.files.update(listed)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WhiteNoiseMiddleware, "add_files_from_finders", remembered)
        yield


@pytest.fixture(autouse=True)
def _own_servers(settings: Any) -> None:
    """Models of tests are local servers, on either database; no name is looked up."""
    settings.ALLOW_PRIVATE_PROVIDERS = True


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
