"""From the first release's tables to today's and back: no row lost, every hash as it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from adjudication.models import ReferenceStandard
from adjudication.services.hashing import standard_sha256
from adjudication.services.standards import drafts_of
from annotation.models import Label
from core import audit, backup
from tests.adjudication.build import make_dispute, make_standard
from tests.build import make_study
from tests.monitoring.build import make_batch, make_scripted

FIRST = Path(__file__).parent / "first_release.json"


def _migrate(targets: list[tuple[str, str]]) -> None:
    executor = MigrationExecutor(connection)
    executor.migrate(targets)


@pytest.mark.django_db(transaction=True)
def test_the_first_release_s_database_comes_through_with_its_hashes() -> None:
    study = make_study(slug="optics")
    make_dispute(study)
    standard = make_standard(study, allow_open=True)
    make_batch(standard, [make_scripted(study)])
    first = sorted(json.loads(FIRST.read_text(encoding="utf-8")).items())
    leaves = MigrationExecutor(connection).loader.graph.leaf_nodes()
    assert {app for app, _ in leaves} >= {app for app, _ in first}, "an app of the first release is gone"
    with connection.cursor() as cursor:
        before = backup.facts(cursor)
        labels = list(Label.objects.order_by("pk").values_list("pk", "final_correct", "first_error_step"))
    try:
        _migrate(first)
        applied = MigrationExecutor(connection).loader.applied_migrations
        later = [key for key in MigrationExecutor(connection).loader.disk_migrations if key not in applied]
        assert later, "first_release.json names a release before today's tables"
    finally:
        _migrate(leaves)
    with connection.cursor() as cursor:
        after = backup.facts(cursor)
    assert {name: rows for name, rows in after.items() if name != "migrations"} == {
        name: rows for name, rows in before.items() if name != "migrations"
    }
    assert sorted(map(tuple, after["migrations"])) == sorted(map(tuple, before["migrations"]))
    assert list(Label.objects.order_by("pk").values_list("pk", "final_correct", "first_error_step")) == labels
    assert list(audit.verify()) == []
    again = ReferenceStandard.objects.get(pk=standard.pk)
    rows = (draft.row for draft in drafts_of(again))
    guideline = again.guideline.version if again.guideline else None
    assert standard_sha256(rows, guideline) == again.sha256 == standard.sha256
