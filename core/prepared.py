"""Prepared statements on PostgreSQL, several in one way there and back: libpq's pipeline without the driver's cursors.

A cursor takes longer than PostgreSQL takes to answer what the desk asks. Values and rows are translated by the
driver, so that they are the same as through a cursor.
"""

from __future__ import annotations

import re
import select
import time
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

from psycopg import Connection, OperationalError, errors, pq
from psycopg.adapt import PyFormat, Transformer

_NAME = re.compile(r"%\((\w+)\)s")
# Seconds after which silence proves nothing: what lies between may have forgotten the connection.
_UNTRIED = 10.0
_FAILED = (pq.ExecStatus.FATAL_ERROR, pq.ExecStatus.BAD_RESPONSE, pq.ExecStatus.PIPELINE_ABORTED)

Asked = tuple[str, Mapping[str, Any]]


class _Session:
    """A connection with the names of the statements that are prepared on it."""

    def __init__(self, pgconn: pq.abc.PGconn) -> None:
        self.pgconn = pgconn
        self.names: dict[tuple[str, tuple[int, ...]], bytes] = {}
        self.used_at = 0.0
        self.ready = select.poll()
        self.ready.register(pgconn.socket, select.POLLIN)

    def name_of(self, statement: str, query: bytes, types: Sequence[int]) -> bytes:
        """Return the statement's name on this connection, where it is prepared at its first use."""
        key = (statement, tuple(types))
        name = self.names.get(key)
        if name is None:
            name = b"desk_%d" % len(self.names)
            _raise_if_failed([self.pgconn.prepare(name, query, types)])
            self.names[key] = name
        return name

    def results(self) -> list[pq.abc.PGresult]:
        """Send what is in the pipeline and return its results; other threads run while it waits."""
        pgconn = self.pgconn
        pgconn.pipeline_sync()
        while pgconn.flush():
            self.ready.modify(pgconn.socket, select.POLLIN | select.POLLOUT)
            if any(event & select.POLLIN for _, event in self.ready.poll()):
                pgconn.consume_input()
            self.ready.modify(pgconn.socket, select.POLLIN)
        found: list[pq.abc.PGresult] = []
        while True:
            if pgconn.is_busy():
                self.ready.poll()
                pgconn.consume_input()
                continue
            result = pgconn.get_result()
            if result is not None and result.status == pq.ExecStatus.PIPELINE_SYNC:
                self.used_at = time.monotonic()
                return found
            if result is not None:
                found.append(result)
            elif pgconn.status == pq.ConnStatus.BAD:
                raise OperationalError(pgconn.get_error_message())


_sessions: WeakKeyDictionary[Connection[Any], _Session] = WeakKeyDictionary()


@cache
def _query(statement: str) -> tuple[bytes, tuple[str, ...]]:
    """Return a statement with numbered values, and their names in that order."""
    names = tuple(dict.fromkeys(_NAME.findall(statement)))
    return _NAME.sub(lambda match: f"${names.index(match[1]) + 1}", statement).encode(), names


def is_alive(connection: Connection[Any]) -> bool:
    """Whether a connection that was used a moment ago still is what it was: a server that ends one says so.

    False is no proof of the contrary.
    """
    session = _sessions.get(connection)
    return (
        session is not None
        and session.pgconn.status == pq.ConnStatus.OK
        and time.monotonic() - session.used_at < _UNTRIED
        and not session.ready.poll(0)
    )


def run(connection: Connection[Any], asked: Sequence[Asked]) -> list[list[tuple[Any, ...]]]:
    """Run statements in their order and return the rows of each; the first that fails raises, and none runs after it.

    Statements of a transaction that has yet to begin are sent with its beginning. Without a transaction they make
    one. A connection with `prepare_threshold` None prepares nothing.
    """
    session = _sessions.get(connection)
    if session is None:
        session = _sessions[connection] = _Session(connection.pgconn)
    pgconn = session.pgconn
    to_send, transformers = [], []
    for statement, values in asked:
        query, names = _query(statement)
        transformer = Transformer.from_context(connection)
        given = transformer.dump_sequence([values[name] for name in names], [PyFormat.AUTO] * len(names))
        types = transformer.types or ()
        name = None if connection.prepare_threshold is None else session.name_of(statement, query, types)
        to_send.append((name, query, given, types, transformer.formats))
        transformers.append(transformer)
    begins = not connection.autocommit and pgconn.transaction_status == pq.TransactionStatus.IDLE
    if begins and connection.isolation_level is not None:
        connection.execute("SELECT 1")  # the driver begins it as it was told to
        begins = False
    try:
        pgconn.enter_pipeline_mode()
        if begins:
            pgconn.send_query_params(b"BEGIN", None)
        for name, query, given, types, formats in to_send:
            if name is None:
                pgconn.send_query_params(query, given, types, formats)
            else:
                pgconn.send_query_prepared(name, given, formats)
        results = session.results()
        pgconn.exit_pipeline_mode()
    except BaseException:
        connection.close()  # cut off in the middle: nobody could tell whose the next result is
        raise
    _raise_if_failed(results)
    found = []
    for transformer, result in zip(transformers, results[begins:], strict=True):
        transformer.set_pgresult(result)
        found.append(transformer.load_rows(0, result.ntuples, tuple))
    return found


def _raise_if_failed(results: Sequence[pq.abc.PGresult]) -> None:
    for result in results:
        if result.status in _FAILED:
            raise errors.error_from_result(result)
