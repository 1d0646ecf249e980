"""Rows that are final refuse UPDATE and DELETE in the database itself."""

from django.db import migrations

from core.guards import GuardFinalRows


class Migration(migrations.Migration):
    dependencies = [("monitoring", "0001_monitors_and_batches")]

    operations = [
        GuardFinalRows("monitoring_attempt", final="OLD.finished_at IS NOT NULL"),
        GuardFinalRows("monitoring_verdict"),
    ]
