"""Database triggers that refuse to change or delete final rows, on SQLite and PostgreSQL alike."""

from __future__ import annotations

from typing import Any

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState


class GuardFinalRows(Operation):
    """Refuse UPDATE and DELETE on a table, or on the rows for which `final` holds.

    `final` is an SQL condition on OLD that both databases understand, for example
    ``OLD.finished_at IS NOT NULL``; without it every row is final from its insertion.
    """

    reversible = True

    def __init__(self, table: str, *, final: str = "1 = 1", delete: bool = True) -> None:
        self.table = table
        self.final = final
        self.delete = delete

    def deconstruct(self) -> tuple[str, list[Any], dict[str, Any]]:
        return self.__class__.__name__, [self.table], {"final": self.final, "delete": self.delete}

    @property
    def verbs(self) -> list[str]:
        return ["UPDATE", "DELETE"] if self.delete else ["UPDATE"]

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        """Triggers are no part of the models' state."""

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        for verb in self.verbs:
            for statement in self._create(schema_editor.connection.vendor, verb):
                schema_editor.execute(statement, params=None)

    def database_backwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        for verb in self.verbs:
            name = self._name(verb)
            if schema_editor.connection.vendor == "postgresql":
                schema_editor.execute(f"DROP TRIGGER IF EXISTS {name} ON {self.table}", params=None)
                schema_editor.execute(f"DROP FUNCTION IF EXISTS {name}()", params=None)
            else:
                schema_editor.execute(f"DROP TRIGGER IF EXISTS {name}", params=None)

    def describe(self) -> str:
        return f"Refuse changes of final rows in {self.table}"

    def _name(self, verb: str) -> str:
        return f"{self.table}_final_no_{verb.lower()}"

    def _create(self, vendor: str, verb: str) -> list[str]:
        name, message = self._name(verb), f"{self.table}: a final row refuses {verb}"
        if vendor == "postgresql":
            return [
                f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS "
                f"$$ BEGIN RAISE EXCEPTION '{message}' "
                "USING ERRCODE = 'integrity_constraint_violation'; END $$",
                f"CREATE TRIGGER {name} BEFORE {verb} ON {self.table} FOR EACH ROW "
                f"WHEN ({self.final}) EXECUTE FUNCTION {name}()",
            ]
        return [
            f"CREATE TRIGGER {name} BEFORE {verb} ON {self.table} FOR EACH ROW WHEN {self.final} "
            f"BEGIN SELECT RAISE(ABORT, '{message}'); END"
        ]


class UnguardFinalRows(GuardFinalRows):
    """Take a guard away, to change the table by a migration that puts it back afterwards."""

    def database_forwards(self, *args: Any) -> None:
        super().database_backwards(*args)

    def database_backwards(self, *args: Any) -> None:
        super().database_forwards(*args)

    def describe(self) -> str:
        return f"Let go of the final rows in {self.table}"
