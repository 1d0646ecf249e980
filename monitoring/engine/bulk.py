"""Many rows updated in one round trip, each with values of its own; ORM updates would take one each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import connection, models


def update_rows(
    model: type[models.Model], fields: Sequence[str], rows: Sequence[Sequence[Any]], *, only_if_null: str = ""
) -> None:
    """Update rows (key, value of each field ...) by primary key, where `only_if_null` is null if it is named."""
    if not rows:
        return
    quote = connection.ops.quote_name
    columns: list[models.Field[Any, Any]] = [model._meta.get_field(name) for name in fields]  # type: ignore[misc]
    told = ", ".join(f"{quote(str(column.column))} = %s" for column in columns)
    sql = f"UPDATE {quote(model._meta.db_table)} SET {told} WHERE {quote('id')} = %s"  # noqa: S608 - our own names
    if only_if_null:
        sql += f" AND {quote(only_if_null)} IS NULL"
    prepared = [
        [
            *(
                column.get_db_prep_save(value, connection)
                for column, value in zip(columns, values, strict=True)
            ),
            key,
        ]
        for key, *values in rows
    ]
    with connection.cursor() as cursor:
        cursor.executemany(sql, prepared)


def insert_rows(model: type[models.Model], rows: Sequence[models.Model]) -> None:
    """Insert new rows and give them their keys.

    PostgreSQL takes them by COPY: its arrays, in which the ORM sends many rows, have every sign of a prompt
    looked at in Python. What a database refuses raises as with any insert.
    """
    if not rows:
        return
    if connection.vendor != "postgresql":
        model._base_manager.bulk_create(rows)
        return
    quote = connection.ops.quote_name
    table = model._meta.db_table
    columns = [field for field in model._meta.concrete_fields if not field.primary_key]
    names = ", ".join(quote(str(column.column)) for column in columns)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT nextval(pg_get_serial_sequence(%s, 'id')) FROM generate_series(1, %s)", [table, len(rows)]
        )
        for row, (key,) in zip(rows, cursor.fetchall(), strict=True):
            row.pk = key
        sql = f"COPY {quote(table)} ({quote('id')}, {names}) FROM STDIN"
        with connection.wrap_database_errors, cursor.copy(sql) as copy:
            for row in rows:
                values = (column.pre_save(row, add=True) for column in columns)
                copy.write_row(
                    [
                        row.pk,
                        *(
                            column.get_db_prep_save(value, connection)
                            for column, value in zip(columns, values, strict=True)
                        ),
                    ]
                )
