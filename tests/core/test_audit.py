"""The audit trail stands in the transaction of its change, and shows any tampering."""

from __future__ import annotations

import pytest
from django.db import DatabaseError, connection, transaction

from core import audit
from core.models import AuditChain, AuditEntry


def _three() -> None:
    for number in range(3):
        with transaction.atomic():
            audit.record(scope="s", actor=None, action="tested", subject=f"n{number}", payload={"n": number})


@pytest.mark.django_db
def test_an_untouched_chain_verifies() -> None:
    _three()
    assert list(audit.verify()) == []
    assert AuditChain.objects.get(scope="s").length == 3


@pytest.mark.django_db(transaction=True)
def test_it_refuses_to_record_outside_a_transaction() -> None:
    with pytest.raises(RuntimeError, match="transaction"):
        audit.record(scope="s", actor=None, action="a", subject="b")


@pytest.mark.django_db
@pytest.mark.parametrize("verb", ["update", "delete"])
def test_the_database_refuses_to_change_or_delete_an_entry(verb: str) -> None:
    _three()
    rows = AuditEntry.objects.filter(sequence=2)
    with pytest.raises(DatabaseError, match="final row"), transaction.atomic():
        rows.update(subject="other") if verb == "update" else rows.delete()


@pytest.mark.django_db
def test_verification_names_an_entry_changed_behind_the_guard() -> None:
    _three()
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute("ALTER TABLE core_auditentry DISABLE TRIGGER USER")
        else:
            cursor.execute("DROP TRIGGER core_auditentry_final_no_update")
        cursor.execute("UPDATE core_auditentry SET subject = 'forged' WHERE sequence = 2")
    breaks = list(audit.verify("s"))
    assert [(b.scope, b.sequence) for b in breaks] == [("s", 2)]
    assert "changed" in breaks[0].reason


@pytest.mark.django_db
def test_verification_sees_a_cut_tail() -> None:
    _three()
    AuditChain.objects.filter(scope="s").update(length=4)
    assert [b.reason for b in audit.verify("s")] == ["the chain says 4 entries, 3 are here"]
