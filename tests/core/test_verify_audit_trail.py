"""verify_audit_trail: whole chains are counted, breaks are listed with exit status 1."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from core import audit
from core.models import AuditEntry

pytestmark = pytest.mark.django_db


def write(scope: str, times: int) -> None:
    with transaction.atomic():
        for number in range(times):
            audit.record(scope=scope, actor=None, action="noted", subject=str(number))


def tamper(scope: str, sequence: int) -> None:
    """Change an entry behind the guards' back."""
    entry = AuditEntry.objects.get(chain__scope=scope, sequence=sequence)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            cursor.execute("ALTER TABLE core_auditentry DISABLE TRIGGER USER")
        else:
            cursor.execute("DROP TRIGGER core_auditentry_final_no_update")
        cursor.execute("UPDATE core_auditentry SET subject = 'other' WHERE id = %s", [entry.pk])


def test_whole_chains_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    write("optics", 3)
    write(audit.SITE, 1)
    call_command("verify_audit_trail")
    assert capsys.readouterr().out == "optics: 3 entries, whole\nsite: 1 entry, whole\n"
    call_command("verify_audit_trail", study="optics")
    assert capsys.readouterr().out == "optics: 3 entries, whole\n"


def test_an_empty_trail_is_said_to_be_empty(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("verify_audit_trail")
    assert "empty" in capsys.readouterr().out


def test_a_changed_entry_is_listed_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("optics", 3)
    write("other", 1)
    tamper("optics", 2)
    out = tmp_path / "r.json"
    with pytest.raises(CommandError, match="does not hold in 1 place") as failure:
        call_command("verify_audit_trail", json=str(out))
    assert failure.value.returncode == 1
    assert "optics, entry 2: was changed after it was written" in capsys.readouterr().out
    result = json.loads(out.read_text())
    assert result["breaks"] == [
        {"scope": "optics", "sequence": 2, "reason": "was changed after it was written"}
    ]
    assert [chain["whole"] for chain in result["chains"]] == [False, True]
    call_command("verify_audit_trail", study="other")


def test_an_unknown_study_is_refused() -> None:
    write("optics", 1)
    with pytest.raises(CommandError, match='study "no"; there are: optics'):
        call_command("verify_audit_trail", study="no")
