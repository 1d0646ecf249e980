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
