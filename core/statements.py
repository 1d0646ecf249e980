"""The few statements that every request of the desk needs, in plain SQL that both databases understand.

Django takes longer to compose such a statement than a database to answer it, and PostgreSQL longer to plan it than
to run it: there they are prepared once for each connection.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connection, connections, models
from django.db.backends.base.base import BaseDatabaseWrapper

M = TypeVar("M", bound=models.Model)


def rows(statement: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Run a statement with named values and return its rows (none for one that gives none)."""
    return together((statement, values))[0]


def row(statement: str, values: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """Run a statement and return its first row."""
    found = rows(statement, values)
    return found[0] if found else None


def together(*asked: tuple[str, Mapping[str, Any]]) -> list[list[tuple[Any, ...]]]:
    """Run statements that do not need each other's answers, in their order; return the rows of each.

    On PostgreSQL they go out at once. Each sees what those before it did, as if it had been sent alone; after one
    that fails, none runs.
    """
    database = connections[DEFAULT_DB_ALIAS]
    if asked and database.vendor == "postgresql" and not database.queries_logged:
        return _prepared(database, asked)
    return [_one(database, statement, values) for statement, values in asked]


def instant(value: Any) -> Any:
    """Return a time that a function of the database gave; SQLite, which has none of its own, gives its text."""
    return datetime.fromisoformat(value).replace(tzinfo=UTC) if isinstance(value, str) else value


def _one(database: BaseDatabaseWrapper, statement: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    given = {
        name: database.ops.adapt_datetimefield_value(value) if isinstance(value, datetime) else value
        for name, value in values.items()
    }
    with database.cursor() as cursor:
        cursor.execute(statement, given)
        return list(cursor.fetchall()) if cursor.description else []


def _prepared(
    database: BaseDatabaseWrapper, asked: Sequence[tuple[str, Mapping[str, Any]]]
) -> list[list[tuple[Any, ...]]]:
    from core import prepared  # the driver is needed only where PostgreSQL is used

    with database.wrap_database_errors:
        if not database.health_check_done and database.connection is not None:  # type: ignore[attr-defined]
            # Once a request. What has just answered need not be asked first whether it would.
            if prepared.is_alive(database.connection):
                database.health_check_done = True  # type: ignore[attr-defined]
            else:
                database.close_if_health_check_failed()
        database.ensure_connection()
        database.validate_no_broken_transaction()
        return prepared.run(database.connection, asked)


class Columns(Generic[M]):
    """What to select of a model's table, and how its rows become objects."""

    def __init__(
        self, model: type[M], *, only: Collection[str] = (), leave_out: Collection[str] = ()
    ) -> None:
        self.model = model
        self.fields = [
            field
            for field in model._meta.concrete_fields
            if field.attname not in leave_out and (not only or field.attname in only)
        ]

    def __len__(self) -> int:
        return len(self.fields)

    def of(self, alias: str) -> str:
        """Return the columns under a table's alias, for SELECT."""
        return ", ".join(f"{alias}.{field.column}" for field in self.fields)

    def build(self, values: Sequence[Any]) -> M:
        """Return the object of a row; what was not selected is fetched when it is asked for."""
        read = [
            convert(value) if convert else value
            for value, convert in zip(values, _converters(self, connection.vendor), strict=True)
        ]
        return self.model.from_db(connection.alias, [field.attname for field in self.fields], read)

    def build_or_none(self, values: Sequence[Any]) -> M | None:
        """Return the object of a row of an outer join, None where it had nothing to join."""
        key = [field.primary_key for field in self.fields].index(True)
        return self.build(values) if values[key] is not None else None


@cache
def _converters(columns: Columns[Any], vendor: str) -> list[Callable[[Any], Any] | None]:
    """Return for each column what Django applies to what the database driver gives."""
    return [_converter(field) for field in columns.fields]


def _converter(field: models.Field[Any, Any]) -> Callable[[Any], Any] | None:
    column = field.get_col(field.model._meta.db_table)
    steps = [*connection.ops.get_db_converters(column), *column.get_db_converters(connection)]
    if not steps:
        return None

    def convert(value: Any) -> Any:
        for step in steps:
            value = step(value, column, connection)
        return value

    return convert
