"""`doctor`: looks at everything the site needs and says in a sentence each what is wrong and what mends it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

import redis
from celery import current_app
from django.conf import settings
from django.contrib.staticfiles import finders
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from kombu.exceptions import OperationalError

from core.finders import FONT, PREFIX
from core.logs import told

State = Literal["ok", "warning", "failed"]
LEAST_FREE_BYTES = 1 << 30
FARTHEST_CLOCK_SECONDS = 5.0


@dataclass(frozen=True)
class Finding:
    """What was looked at, how it is, and a sentence."""

    name: str
    state: State
    text: str


Check = Callable[[], Finding]
_more: list[Check] = []


def register(check: Check) -> None:
    """Let the doctor also make this check, of an app above."""
    if check not in _more:
        _more.append(check)


def examine() -> Iterator[Finding]:
    """Make every check; one that itself fails is a finding too."""
    for check in (*CHECKS, *_more):
        try:
            yield check()
        except (DatabaseError, OSError, OperationalError, redis.RedisError) as error:
            yield Finding(check.__name__.replace("_", " "), "failed", f"cannot be looked at: {told(error)}")


def database() -> Finding:
    """The database answers and can be written to."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        if connection.vendor == "postgresql":
            cursor.execute("SELECT pg_is_in_recovery(), current_setting('server_version')")
            standby, version = cursor.fetchone()
            if standby:
                return Finding("database", "failed", "PostgreSQL is a standby and takes no writes")
            return Finding("database", "ok", f"PostgreSQL {version} answers")
        cursor.execute("PRAGMA journal_mode")
        mode = str(cursor.fetchone()[0])
    if mode != "wal":
        return Finding(
            "database", "warning", f"SQLite keeps its log as {mode}, not as wal: readers wait for writers"
        )
    return Finding("database", "ok", "SQLite answers")


def migrations() -> Finding:
    """The tables are those of this version."""
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if plan:
        first = f"{plan[0][0].app_label}.{plan[0][0].name}"
        return Finding(
            "migrations", "failed", f"{len(plan)} not applied, the first is {first}: run `manage.py migrate`"
        )
    known = set(executor.loader.disk_migrations)
    unknown = sorted(set(executor.loader.applied_migrations) - known)
    if unknown:
        return Finding(
            "migrations", "failed", f"the database is of a newer version: it has {'.'.join(unknown[0])}"
        )
    return Finding("migrations", "ok", "all applied")


def broker() -> Finding:
    """Workers can be woken."""
    with current_app.connection_for_write() as link:
        link.ensure_connection(max_retries=1, timeout=3)
        kind = link.transport.driver_type
    return Finding("broker", "ok", f"the broker ({kind}) answers")


def eviction() -> Finding:
    """Redis refuses rather than forgets."""
    if not settings.REDIS_URL:
        return Finding("eviction policy", "ok", "no Redis is used")
    client = redis.Redis.from_url(settings.REDIS_URL, socket_connect_timeout=3, socket_timeout=3)
    try:
        policy = client.config_get("maxmemory-policy").get("maxmemory-policy", "")
    except redis.ResponseError:
        return Finding(
            "eviction policy", "warning", "Redis does not tell its maxmemory-policy: it must be noeviction"
        )
    finally:
        client.close()
    if policy != "noeviction":
        return Finding(
            "eviction policy",
            "failed",
            f"Redis may forget messages (maxmemory-policy {policy}): set noeviction",
        )
    return Finding("eviction policy", "ok", "Redis forgets nothing (noeviction)")


def clock() -> Finding:
    """This machine and the database agree on the time: leases and expiries are compared with both."""
    if connection.vendor != "postgresql":
        return Finding("clock", "ok", "the database is on this machine")
    with connection.cursor() as cursor:
        before = datetime.now(UTC)
        cursor.execute("SELECT clock_timestamp()")
        there = cursor.fetchone()[0]
        after = datetime.now(UTC)
    # The database's moment lies between ours; how far outside it falls is how far the clocks differ.
    apart = max((before - there).total_seconds(), (there - after).total_seconds(), 0.0)
    if apart > FARTHEST_CLOCK_SECONDS:
        return Finding(
            "clock", "failed", f"the database's clock is {apart:.0f} s away from this machine's: set both"
        )
    return Finding("clock", "ok", "this machine and the database agree")


def disk() -> Finding:
    """There is room to write."""
    usage = shutil.disk_usage(settings.HOME)
    free = f"{usage.free / (1 << 30):.1f} GiB of {usage.total / (1 << 30):.0f} free"
    if usage.free < LEAST_FREE_BYTES:
        return Finding("disk", "failed", f"only {free} where FALSESTEP_HOME lies")
    return Finding("disk", "ok", free)


def fonts() -> Finding:
    """The mathematical font is there, and where files are collected it was."""
    if not finders.find(f"{PREFIX}/{FONT}"):
        return Finding("fonts", "failed", f"{FONT} is missing: install the packages of requirements.lock")
    if not settings.WHITENOISE_USE_FINDERS and not (settings.STATIC_ROOT / PREFIX / FONT).is_file():
        return Finding("fonts", "failed", "static files were not collected: run `manage.py collectstatic`")
    return Finding("fonts", "ok", f"{FONT} is served")


def folders() -> Finding:
    """Files can be made where they must be."""
    places = {"FALSESTEP_HOME": str(settings.HOME), "the folder for temporary files": tempfile.gettempdir()}
    for name, place in places.items():
        try:
            with tempfile.NamedTemporaryFile(dir=place):
                pass
        except OSError as error:
            return Finding("folders", "failed", f"no file can be made in {name}: {told(error)}")
    embedded = settings.HOME / "falsestep.sqlite3"
    if not settings.DATABASE_URL and embedded.is_file() and embedded.stat().st_mode & 0o077:
        return Finding(
            "folders", "failed", "others on this machine can read the database: chmod 600 falsestep.sqlite3"
        )
    return Finding("folders", "ok", "files can be made, and nobody else reads the database")


CHECKS: tuple[Check, ...] = (database, migrations, broker, eviction, clock, disk, fonts, folders)
