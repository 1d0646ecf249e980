"""Backups: the database, the files beside it, and a manifest by which a restored site proves to be the same.

A backup is a folder: `database.dump` (PostgreSQL's custom format) or `database.sqlite3`, `files/`, `manifest.json`.
The manifest is read from the very snapshot that is copied, while the site goes on.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from django.conf import settings
from django.db import connection, transaction

from core import audit
from core.errors import UserError

FORMAT = 1
DUMPS = {"postgresql": "database.dump", "sqlite": "database.sqlite3"}
# Made anew at each start or by a command, or of one machine alone.
_LEFT_OUT = ("falsestep.sqlite3*", "test-*.sqlite3*", "static", "broker", "metrics", "celerybeat-schedule*", "*.lock",
             "*.log")  # fmt: skip

# Facts that must be the same after a restore: a name, and a query whose rows are plain text and numbers.
_facts: dict[str, str] = {
    "audit_heads": "SELECT scope, length, head FROM core_auditchain ORDER BY scope",
    "migrations": "SELECT app, name FROM django_migrations ORDER BY app, name",
}


class BackupRefused(UserError):
    """A backup cannot be made or restored; nothing half-done is left in the database."""


class Cursor(Protocol):
    """What both a Django cursor and SQLite's own have."""

    def execute(self, sql: str) -> Any: ...

    def fetchall(self) -> list[Any]: ...


def register(name: str, query: str) -> None:
    """Let the manifest also hold the rows of a query, of an app above."""
    _facts[name] = query


def facts(cursor: Cursor) -> dict[str, Any]:
    """Return what a restored database must say again: heads, hashes, migrations, and the rows of each table."""
    found: dict[str, Any] = {}
    for name, query in _facts.items():
        cursor.execute(query)
        found[name] = [list(row) for row in cursor.fetchall()]
    found["rows"] = {}
    for table in sorted(connection.introspection.django_table_names(only_existing=False)):
        cursor.execute(f'SELECT count(*) FROM "{table}"')  # noqa: S608 - names of our own models
        found["rows"][table] = cursor.fetchall()[0][0]
    return found


def back_up(folder: Path) -> dict[str, Any]:
    """Write a backup into a new or empty folder, readable by its owner alone; return the manifest."""
    folder = folder.resolve()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise BackupRefused(f"{folder} is not empty: name a new folder")
    folder.chmod(0o700)
    dump = folder / DUMPS[connection.vendor]
    found = _dump_postgresql(dump) if connection.vendor == "postgresql" else _dump_sqlite(dump)
    _copy_files(settings.HOME, folder)
    manifest = {
        "format": FORMAT,
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "vendor": connection.vendor,
        "files": {str(path.relative_to(folder)): _sha256(path) for path in _files_in(folder)},
        **found,
    }
    # Last, and in one step: a folder without a manifest is no backup.
    draft = folder / "manifest.json.draft"
    draft.write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    draft.rename(folder / "manifest.json")
    return manifest


def restore(folder: Path) -> dict[str, Any]:
    """Restore a backup into an empty database and compare; return the manifest.

    Raises BackupRefused if a file was changed, if the database is not empty, or if what came back differs.
    """
    manifest = read_manifest(folder)
    if manifest["vendor"] != connection.vendor:
        raise BackupRefused(
            f"this is a backup of {manifest['vendor']}; the database here is {connection.vendor}"
        )
    if connection.introspection.table_names():
        raise BackupRefused("the database is not empty: restore into a new one")
    dump = folder / DUMPS[connection.vendor]
    if connection.vendor == "postgresql":
        _postgresql("pg_restore", "--no-owner", "--no-privileges", "--exit-on-error", "--single-transaction",
                    "--dbname", _name(), str(dump))  # fmt: skip
    else:
        connection.close()
        with _sqlite(dump) as source, _sqlite(Path(_name())) as target:
            source.backup(target)
    connection.close()
    _restore_files(folder)
    with connection.cursor() as cursor:
        here = facts(cursor)
    differing = [name for name in here if here[name] != manifest.get(name)]
    if differing:
        raise BackupRefused(f"what was restored differs from the manifest in: {', '.join(differing)}")
    broken = next(iter(audit.verify()), None)
    if broken is not None:
        raise BackupRefused(
            f"the audit trail does not hold: {broken.scope}, {broken.sequence}: {broken.reason}"
        )
    return manifest


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a backup whose files are whole; raise BackupRefused."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BackupRefused(f"{folder} is no backup: manifest.json cannot be read") from error
    if manifest.get("format") != FORMAT:
        raise BackupRefused(f"this backup has format {manifest.get('format')}; format {FORMAT} is read here")
    here = {str(path.relative_to(folder)): _sha256(path) for path in _files_in(folder)}
    for name in sorted(here.keys() | manifest["files"].keys()):
        if here.get(name) != manifest["files"].get(name):
            raise BackupRefused(f"{name} is missing, added or was changed since the backup was made")
    return dict(manifest)


def _dump_postgresql(dump: Path) -> dict[str, Any]:
    with transaction.atomic(durable=True), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        cursor.execute("SELECT pg_export_snapshot()")
        snapshot = cursor.fetchone()[0]
        found = facts(cursor)
        _postgresql("pg_dump", "--format=custom", "--no-owner", "--no-privileges", f"--snapshot={snapshot}",
                    "--file", str(dump), "--dbname", _name())  # fmt: skip
    return found


def _dump_sqlite(dump: Path) -> dict[str, Any]:
    dump.touch(mode=0o600)
    with _sqlite(Path(_name())) as source, _sqlite(dump) as copy:
        source.backup(copy)
        copy.execute("PRAGMA journal_mode=DELETE")  # one file, without a log beside it
        return facts(copy.cursor())


class _sqlite:
    """A connection to a SQLite file, closed afterwards."""

    def __init__(self, path: Path) -> None:
        self._link = sqlite3.connect(path, timeout=30)

    def __enter__(self) -> sqlite3.Connection:
        return self._link

    def __exit__(self, *_: object) -> None:
        self._link.close()


def _name() -> str:
    return str(connection.settings_dict["NAME"])


def _postgresql(program: str, *arguments: str) -> None:
    """Run one of PostgreSQL's programs; the password goes by its environment, where no list of processes shows it."""
    told = connection.settings_dict
    env = {
        **os.environ,
        "PGHOST": str(told.get("HOST") or ""),
        "PGPORT": str(told.get("PORT") or ""),
        "PGUSER": str(told.get("USER") or ""),
        "PGPASSWORD": str(told.get("PASSWORD") or ""),
    }
    try:
        done = subprocess.run(
            [program, "--no-password", *arguments],
            env={name: value for name, value in env.items() if value},
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError as error:
        raise BackupRefused(f"{program} is not installed: install PostgreSQL's client programs") from error
    if done.returncode:
        raise BackupRefused(f"{program} failed: {' '.join(done.stderr.split())[:500]}")


def _copy_files(home: Path, folder: Path) -> None:
    left_out = shutil.ignore_patterns(*_LEFT_OUT)

    def ignored(place: str, names: list[str]) -> set[str]:
        inside = {name for name in names if (Path(place) / name).resolve() == folder}
        return (
            set(left_out(place, names))
            | inside
            | {name for name in names if (Path(place) / name).is_symlink()}
        )

    shutil.copytree(home, folder / "files", ignore=ignored)


def _restore_files(folder: Path) -> None:
    """Put files back; the secret key made by this very start gives way to the one that signed the sessions."""
    mode = settings.HOME.stat().st_mode
    if (folder / "files").is_dir():
        shutil.copytree(folder / "files", settings.HOME, dirs_exist_ok=True)
    settings.HOME.chmod(mode)  # who may look into it is this machine's matter


def _files_in(folder: Path) -> Iterator[Path]:
    paths: Iterable[Path] = sorted(folder.rglob("*"))
    yield from (path for path in paths if path.is_file() and not path.name.startswith("manifest.json"))


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
