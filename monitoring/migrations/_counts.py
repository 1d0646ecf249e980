"""The triggers that keep the counts of runs: whoever writes calls, verdicts and attempts keeps them right.

On SQLite a migration that makes one of these tables anew must stop them first and start them again afterwards.
"""

# ruff: noqa: S608 - the names of our own tables and columns

from __future__ import annotations

from typing import Any

from django.db.backends.base.schema import BaseDatabaseSchemaEditor

COLUMNS = {"call": "status", "verdict": "outcome"}  # what is counted of a table's rows, by run
CENTS = "CAST(ROUND(NEW.cost * 100000000) AS bigint)"
CENTS_BEFORE = CENTS.replace("NEW", "OLD")
ADDED = "ON CONFLICT (run_id, kind, name) DO UPDATE SET number = monitoring_runcount.number + excluded.number"
ANEW = [
    *(
        f"""INSERT INTO monitoring_runcount (run_id, kind, name, number)
        SELECT run_id, '{kind}', {column}, COUNT(*) FROM monitoring_{kind} GROUP BY run_id, {column}"""
        for kind, column in COLUMNS.items()
    ),
    f"""INSERT INTO monitoring_runcount (run_id, kind, name, number)
    SELECT c.run_id, 'cost', '', SUM({CENTS.replace("NEW", "a")})
    FROM monitoring_attempt a JOIN monitoring_call c ON c.id = a.call_id WHERE a.cost <> 0 GROUP BY c.run_id""",
    """INSERT INTO monitoring_runcount (run_id, kind, name, number)
    SELECT c.run_id, 'error', a.error_kind, COUNT(*)
    FROM monitoring_attempt a JOIN monitoring_call c ON c.id = a.call_id
    WHERE NOT (a.error_kind = '') GROUP BY c.run_id, a.error_kind""",
]  # fmt: skip


def start(apps: Any, editor: BaseDatabaseSchemaEditor) -> None:
    """Make the triggers and count what is there, with no writer in between."""
    postgresql = editor.connection.vendor == "postgresql"
    if postgresql:
        editor.execute(
            "LOCK TABLE monitoring_call, monitoring_attempt, monitoring_verdict IN SHARE ROW EXCLUSIVE MODE"
        )
    for statement in _on_postgresql() if postgresql else _on_sqlite():
        editor.execute(statement, params=None)
    for statement in ANEW:
        editor.execute(statement, params=None)


def stop(apps: Any, editor: BaseDatabaseSchemaEditor) -> None:
    """Take the triggers away and forget the counts."""
    postgresql = editor.connection.vendor == "postgresql"
    for table in (*COLUMNS, "attempt"):
        for verb in ("insert", "update") if table == "attempt" else ("insert", "update", "delete"):
            of = f" ON monitoring_{table}" if postgresql else ""
            editor.execute(f"DROP TRIGGER monitoring_{table}_counted_{verb}{of}", params=None)
        if postgresql:
            editor.execute(f"DROP FUNCTION monitoring_{table}_counted()", params=None)
    editor.execute("DELETE FROM monitoring_runcount", params=None)


def _on_postgresql() -> list[str]:
    """Count a whole statement at once; attempts by row, since only a changed cost or error is of interest."""
    made = []
    for kind, column in COLUMNS.items():
        table, name = f"monitoring_{kind}", f"monitoring_{kind}_counted"
        made += [
            f"""CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF TG_OP = 'INSERT' THEN
                INSERT INTO monitoring_runcount (run_id, kind, name, number)
                SELECT run_id, '{kind}', {column}, COUNT(*) FROM added GROUP BY run_id, {column}
                ORDER BY run_id, {column} {ADDED};
            ELSIF TG_OP = 'UPDATE' THEN
                INSERT INTO monitoring_runcount (run_id, kind, name, number)
                SELECT run_id, '{kind}', {column}, SUM(n) FROM (
                    SELECT run_id, {column}, 1 AS n FROM added UNION ALL SELECT run_id, {column}, -1 FROM gone) moved
                GROUP BY run_id, {column} HAVING SUM(n) <> 0 ORDER BY run_id, {column} {ADDED};
            ELSE
                UPDATE monitoring_runcount kept SET number = kept.number - less.n
                FROM (SELECT run_id, {column} AS name, COUNT(*) AS n FROM gone GROUP BY run_id, {column}) less
                WHERE kept.run_id = less.run_id AND kept.kind = '{kind}' AND kept.name = less.name;
            END IF;
            RETURN NULL; END $$""",
            f"CREATE TRIGGER {name}_insert AFTER INSERT ON {table} REFERENCING NEW TABLE AS added "
            f"FOR EACH STATEMENT EXECUTE FUNCTION {name}()",
            f"CREATE TRIGGER {name}_update AFTER UPDATE ON {table} REFERENCING OLD TABLE AS gone NEW TABLE AS added "
            f"FOR EACH STATEMENT EXECUTE FUNCTION {name}()",
            f"CREATE TRIGGER {name}_delete AFTER DELETE ON {table} REFERENCING OLD TABLE AS gone "
            f"FOR EACH STATEMENT EXECUTE FUNCTION {name}()",
        ]  # fmt: skip
    name = "monitoring_attempt_counted"
    made += [
        f"""CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE run bigint := (SELECT run_id FROM monitoring_call WHERE id = NEW.call_id);
        BEGIN
        IF TG_OP = 'UPDATE' THEN
            UPDATE monitoring_runcount SET number = number - {CENTS_BEFORE}
            WHERE run_id = run AND kind = 'cost' AND OLD.cost <> 0;
            UPDATE monitoring_runcount SET number = number - 1
            WHERE run_id = run AND kind = 'error' AND name = OLD.error_kind;
        END IF;
        IF NEW.cost <> 0 THEN
            INSERT INTO monitoring_runcount (run_id, kind, name, number) VALUES (run, 'cost', '', {CENTS}) {ADDED};
        END IF;
        IF NEW.error_kind <> '' THEN
            INSERT INTO monitoring_runcount (run_id, kind, name, number)
            VALUES (run, 'error', NEW.error_kind, 1) {ADDED};
        END IF;
        RETURN NULL; END $$""",
        f"CREATE TRIGGER {name}_insert AFTER INSERT ON monitoring_attempt FOR EACH ROW "
        f"WHEN (NEW.cost <> 0 OR NEW.error_kind <> '') EXECUTE FUNCTION {name}()",
        f"CREATE TRIGGER {name}_update AFTER UPDATE ON monitoring_attempt FOR EACH ROW "
        "WHEN (NEW.cost <> OLD.cost OR NEW.error_kind <> OLD.error_kind) "
        f"EXECUTE FUNCTION {name}()",
    ]  # fmt: skip
    return made


def _on_sqlite() -> list[str]:
    made = []
    for kind, column in COLUMNS.items():
        table, name = f"monitoring_{kind}", f"monitoring_{kind}_counted"
        less = (
            f"UPDATE monitoring_runcount SET number = number - 1 "
            f"WHERE run_id = OLD.run_id AND kind = '{kind}' AND name = OLD.{column};"
        )
        more = (
            "INSERT INTO monitoring_runcount (run_id, kind, name, number) "
            f"VALUES (NEW.run_id, '{kind}', NEW.{column}, 1) {ADDED};"
        )
        made += [
            f"CREATE TRIGGER {name}_insert AFTER INSERT ON {table} BEGIN {more} END",
            f"CREATE TRIGGER {name}_update AFTER UPDATE ON {table} WHEN NEW.{column} <> OLD.{column} "
            f"OR NEW.run_id <> OLD.run_id BEGIN {less} {more} END",
            f"CREATE TRIGGER {name}_delete AFTER DELETE ON {table} BEGIN {less} END",
        ]
    name = "monitoring_attempt_counted"
    less = f"""UPDATE monitoring_runcount SET number = number - {CENTS_BEFORE}
        WHERE kind = 'cost' AND OLD.cost <> 0
        AND run_id = (SELECT run_id FROM monitoring_call WHERE id = OLD.call_id);
    UPDATE monitoring_runcount SET number = number - 1 WHERE kind = 'error' AND name = OLD.error_kind
        AND run_id = (SELECT run_id FROM monitoring_call WHERE id = OLD.call_id);"""
    more = f"""INSERT INTO monitoring_runcount (run_id, kind, name, number)
        SELECT run_id, 'cost', '', {CENTS} FROM monitoring_call WHERE id = NEW.call_id AND NEW.cost <> 0 {ADDED};
    INSERT INTO monitoring_runcount (run_id, kind, name, number)
        SELECT run_id, 'error', NEW.error_kind, 1 FROM monitoring_call
        WHERE id = NEW.call_id AND NEW.error_kind <> '' {ADDED};"""
    return [
        *made,
        f"CREATE TRIGGER {name}_insert AFTER INSERT ON monitoring_attempt "
        f"WHEN NEW.cost <> 0 OR NEW.error_kind <> '' BEGIN {more} END",
        f"CREATE TRIGGER {name}_update AFTER UPDATE ON monitoring_attempt "
        f"WHEN NEW.cost <> OLD.cost OR NEW.error_kind <> OLD.error_kind BEGIN {less} {more} END",
    ]
