"""The roles of critical errors in a release: a file of its own, there when a lead has coded some."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from adjudication.models import CriticalRole
from annotation.imports.fields import Fields, RefusedRow
from annotation.imports.reading import Row, Source, read_each
from annotation.imports.records import MAX_QUESTION_ID, MAX_RESPONSE_LABEL
from monitoring.imports.folder import ROLES_FILE, ReleaseFolder
from monitoring.imports.released_labels import Key, ReleasedLabel

FIELDS = frozenset({"question_id", "response_label", "critical_role"})


@dataclass(frozen=True)
class ReleasedRole:
    """One row: the kind of role coded on a trace."""

    line: int
    key: Key
    kind: str


def read_roles(folder: ReleaseFolder, labels: Mapping[Key, ReleasedLabel]) -> dict[Key, ReleasedRole]:
    """Read the roles by natural key; none where the release has no such file. Raises ImportRefused for bad rows."""
    if ROLES_FILE not in folder.files:
        return {}
    roles: dict[Key, ReleasedRole] = {}
    with Source.of_bytes(ROLES_FILE, folder.files[ROLES_FILE].content) as source:
        for role in read_each(source, _read):
            name = "/".join(role.key)
            label = labels.get(role.key)
            if role.key in roles:
                source.refuse(role.line, f'"{name}" stands on line {roles[role.key].line} already')
            elif label is None or label.cell != "critical":
                source.refuse(role.line, f'"{name}" is no critical trace of the standard, so it has no role')
            else:
                roles[role.key] = role
        source.raise_if_bad()
    return roles


def _read(row: Row) -> ReleasedRole:
    fields = Fields(row.fields, known=FIELDS)
    kind = fields.identifier("critical_role", max_length=40)
    if kind not in CriticalRole.Kind.values:
        raise RefusedRow(f'"critical_role" is one of {", ".join(CriticalRole.Kind.values)}, not "{kind}"')
    key = (
        fields.identifier("question_id", max_length=MAX_QUESTION_ID),
        fields.identifier("response_label", max_length=MAX_RESPONSE_LABEL),
    )
    return ReleasedRole(row.line, key, kind)
