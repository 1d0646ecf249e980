"""Reading the two files of an audit, keys and stored responses (docs/verification.md)."""

from __future__ import annotations

from pathlib import Path

from annotation.imports.fields import Fields, RefusedRow
from annotation.imports.reading import Row, Source, read_each
from verification.answer_keys.records import Item, Material, Response

MAX_NAME = 200
KEY_FIELDS = frozenset({"item", "domain", "level", "key", "cluster"})
RESPONSE_FIELDS = frozenset({"item", "model", "response", "correct"})


def read_material(keys: str | Path, responses: str | Path) -> tuple[Material, dict[str, str]]:
    """Read both files; returns the material and {"keys": sha256, "responses": sha256}.

    Raises UserError for an unreadable file, ImportRefused with every bad row, BadAudit for what does not fit.
    """
    items: dict[str, Item] = {}
    with Source(keys) as source:
        for row, item in read_each(source, _item):
            if item.name in items:
                source.refuse(row.line, f'the item "{item.name}" stands twice')
            items.setdefault(item.name, item)
        source.raise_if_bad()
        source.raise_if_empty(len(items))
        sha_of_keys = source.sha256
    found: list[Response] = []
    with Source(responses) as source:
        seen: dict[tuple[str, str], int] = {}
        for row, response in read_each(source, _response):
            if response.item not in items:
                source.refuse(row.line, f'no key for the item "{response.item}"')
            first = seen.setdefault((response.item, response.model), row.line)
            if first != row.line:
                source.refuse(row.line, f"the response of this model to this item stands on line {first} too")
            found.append(response)
        source.raise_if_bad()
        source.raise_if_empty(len(found))
        sha_of_responses = source.sha256
    return Material(items, found), {"keys": sha_of_keys, "responses": sha_of_responses}


def _item(row: Row) -> tuple[Row, Item]:
    fields = Fields(row.fields, known=KEY_FIELDS)
    name = fields.identifier("item", max_length=MAX_NAME)
    return row, Item(
        name=name,
        domain=fields.identifier("domain", max_length=MAX_NAME),
        level=fields.identifier("level", max_length=MAX_NAME),
        key=fields.text("key"),
        cluster=fields.identifier("cluster", max_length=MAX_NAME, default=name) or name,
    )


def _response(row: Row) -> tuple[Row, Response]:
    fields = Fields(row.fields, known=RESPONSE_FIELDS)
    if not fields.has("response") and not fields.has("correct"):
        raise RefusedRow('either "response" or "correct" must be there')
    return row, Response(
        item=fields.identifier("item", max_length=MAX_NAME),
        model=fields.identifier("model", max_length=MAX_NAME),
        text=fields.text("response", default=""),
        correct=fields.truth_or_none("correct"),
    )
