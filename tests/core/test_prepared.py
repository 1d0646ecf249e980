"""Statements that are sent together see each other, stop at the first failure, and outlive a lost connection."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, close_old_connections, connection, transaction

from core import statements
from core.models import AuditChain

ADD = "INSERT INTO core_auditchain (scope, length, head) VALUES (%(scope)s, 0, '') RETURNING scope"
COUNT = "SELECT COUNT(*) FROM core_auditchain WHERE scope = %(scope)s AND %(scope)s <> ''"
ONE = {"scope": "one"}


@pytest.fixture
def on_postgresql() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("there is no such connection on SQLite; runs on PostgreSQL")


@pytest.mark.django_db
def test_statements_sent_together_see_what_those_before_did() -> None:
    for _ in range(2):
        with transaction.atomic():
            assert statements.together((COUNT, ONE), (ADD, ONE), (COUNT, ONE)) == [[(0,)], [("one",)], [(1,)]]
            transaction.set_rollback(True)
    assert not AuditChain.objects.filter(scope="one").exists()


@pytest.mark.django_db
def test_after_a_statement_that_fails_none_runs() -> None:
    statements.row(ADD, ONE)
    with pytest.raises(IntegrityError), transaction.atomic():
        statements.together((ADD, {"scope": "two"}), (ADD, ONE), (ADD, {"scope": "three"}))
    assert list(AuditChain.objects.values_list("scope", flat=True)) == ["one"]


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("on_postgresql")
def test_a_connection_that_the_server_ended_is_replaced_at_the_next_request() -> None:
    connection.ensure_connection()
    assert statements.row(COUNT, ONE) == (0,)
    lost = connection.connection
    with connection.Database.connect(lost.info.dsn, password=lost.info.password, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [lost.info.backend_pid])
    connection.health_check_enabled = True
    try:
        close_old_connections()  # as at the beginning of a request
        assert statements.row(COUNT, ONE) == (0,)
    finally:
        connection.health_check_enabled = False
    assert connection.connection is not lost


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("on_postgresql")
def test_behind_a_pooler_nothing_is_prepared() -> None:
    connection.ensure_connection()
    threshold = connection.connection.prepare_threshold
    connection.connection.prepare_threshold = None
    try:
        assert statements.together((ADD, ONE), (COUNT, ONE)) == [[("one",)], [(1,)]]
    finally:
        connection.connection.prepare_threshold = threshold
    prepared = "SELECT COUNT(*) FROM pg_prepared_statements WHERE statement LIKE '%%core_auditchain (scope%%'"
    with connection.cursor() as cursor:
        cursor.execute(prepared)
        assert cursor.fetchone() == (0,)
