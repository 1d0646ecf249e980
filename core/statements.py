"""The few statements that every request of the desk needs, in plain SQL that both databases understand.

Django takes longer to compose such a statement than a database to answer it, and PostgreSQL longer to plan it than
to run it: there they are prepared once for each connection.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, Generic, TypeVar

from django.db import connection, models

M = TypeVar("M", bound=models.Model)


def rows(statement: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Run a statement with named values and return its rows (none for one that gives none)."""
    given = {
        name: connection.ops.adapt_datetimefield_value(value) if isinstance(value, datetime) else value
        for name, value in values.items()
    }
    if connection.vendor == "postgresql" and not connection.queries_logged:
        return _prepared(statement, given)
    with connection.cursor() as cursor:
        cursor.execute(statement, given)
        return list(cursor.fetchall()) if cursor.description else []


def row(statement: str, values: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """Run a statement and return its first row."""
    found = rows(statement, values)
    return found[0] if found else None


def _prepared(statement: str, values: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    from psycopg import Cursor  # there only where PostgreSQL is used

    with connection.wrap_database_errors:
        connection.ensure_connection()
        connection.validate_no_broken_transaction()
        # Ours binds on the server; Django's own cursors bind in the client and prepare nothing.
        with Cursor(connection.connection) as cursor:
            prepare = connection.connection.prepare_threshold is not None
            cursor.execute(statement, values, prepare=prepare)
            return cursor.fetchall() if cursor.description else []


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
