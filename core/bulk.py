"""Inserting many rows at once: COPY on PostgreSQL, Django's bulk_create elsewhere."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from json.encoder import encode_basestring
from typing import Any, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections, models, router, transaction
from django.utils import timezone

M = TypeVar("M", bound=models.Model)
Value = Callable[[models.Model], Any]

CHUNK = 500


def insert(rows: Sequence[M]) -> None:
    """Insert new rows of one model and give them their primary keys, in one transaction.

    Objects that the rows refer to must have been inserted before. What `bulk_create` would refuse is refused
    here with the same errors: the database checks every constraint of a copied row. Signals are not sent.
    """
    with inserting(rows):
        pass


@contextmanager
def inserting(rows: Sequence[M]) -> Iterator[None]:
    """Do as `insert` does; PostgreSQL goes on with it while the body runs, which must ask the database nothing.

    Where the body fails nothing is inserted.
    """
    if not rows:
        yield
        return
    model = type(rows[0])
    using = router.db_for_write(model)
    connection = connections[using]
    if connection.vendor != "postgresql" or any(row.pk is not None for row in rows):
        manager: models.Manager[Any] = model._default_manager
        with transaction.atomic(using=using):
            manager.using(using).bulk_create(rows, batch_size=CHUNK)
            yield
        return
    meta = model._meta
    assert meta.pk is not None
    table, quote = meta.db_table, connection.ops.quote_name
    key_column = meta.pk.get_attname_column()[1]
    now = timezone.now()
    # Primary keys are drawn before the copy, since COPY returns none.
    fields = [field for field in meta.concrete_fields if not field.generated]
    values = [_reader(field, now) for field in fields]
    columns = ", ".join(quote(str(field.column)) for field in fields)
    with transaction.atomic(using=using), connection.cursor() as cursor:
        cursor.execute(
            "SELECT nextval(pg_get_serial_sequence(%s, %s)) FROM generate_series(1, %s)",
            [quote(table), key_column, len(rows)],
        )
        for row, (key,) in zip(rows, cursor.fetchall(), strict=True):
            row.pk = key
        try:
            # A copy passes by the cursor's own translation of the driver's errors.
            with (
                connection.wrap_database_errors,
                cursor.copy(f"COPY {quote(table)} ({columns}) FROM STDIN") as copy,
            ):
                for row in rows:
                    copy.write_row([value(row) for value in values])
                yield
        except BaseException:
            for row in rows:
                row.pk = None
            raise
    for row in rows:
        row._state.adding, row._state.db = False, using


def check_references_at_once() -> None:
    """Let PostgreSQL check the references of rows with the statement that writes them, until the transaction ends.

    It would keep a list of all of them, and check them in one go before the commit.
    """
    connection = connections[DEFAULT_DB_ALIAS]
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")


@contextmanager
def uncollected() -> Iterator[None]:
    """Keep the garbage collector away: rows by the thousand hold no cycles, and it would walk them time and again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _reader(field: models.Field[Any, Any], now: datetime) -> Value:
    """Return what reads a field's value from a row, ready for COPY."""
    name = field.attname
    if isinstance(field, models.ForeignKey):
        return _reference(field)
    if isinstance(field, models.JSONField):
        encoder = field.encoder
        return lambda row: _json(getattr(row, name), encoder)
    if isinstance(field, models.DateTimeField) and (field.auto_now or field.auto_now_add):
        return lambda row: _stamp(row, name, now)
    if isinstance(field, models.CharField | models.TextField):
        # A member of TextChoices would be written by its name.
        return lambda row: None if (value := getattr(row, name)) is None else str(value)
    return lambda row: getattr(row, name)


def _json(value: Any, encoder: type[json.JSONEncoder] | None) -> str:
    if encoder is None and isinstance(value, list) and all(type(part) is str for part in value):
        return f"[{', '.join(map(encode_basestring, value))}]"  # a list of texts, in a third of the time
    return json.dumps(value, cls=encoder, ensure_ascii=False)


def _stamp(row: models.Model, name: str, now: datetime) -> datetime:
    setattr(row, name, now)
    return now


def _reference(field: models.ForeignKey[Any, Any]) -> Value:
    """Return what reads a foreign key; an object inserted since it was assigned lends its key now."""
    name, target = field.attname, field.target_field.attname

    def value(row: models.Model) -> Any:
        key = getattr(row, name)
        if key is None and field.is_cached(row) and (other := field.get_cached_value(row)) is not None:
            key = getattr(other, target)
            if key is None:
                raise ValueError(f"{row._meta.label}: {field.name} is not saved yet")
            setattr(row, name, key)
        return key

    return value
