"""Rows that are final refuse UPDATE and DELETE in the database itself."""

from django.db import migrations

from core.guards import GuardFinalRows


class Migration(migrations.Migration):
    dependencies = [("core", "0001_people_and_audit")]

    operations = [
        GuardFinalRows("core_auditentry"),
    ]
