"""Rows that are final refuse UPDATE and DELETE in the database itself."""

from django.db import migrations

from core.guards import GuardFinalRows


class Migration(migrations.Migration):
    dependencies = [("adjudication", "0001_disputes_and_standards")]

    operations = [
        GuardFinalRows("adjudication_decision"),
        GuardFinalRows("adjudication_consultation"),
        GuardFinalRows("adjudication_referencestandard"),
        GuardFinalRows("adjudication_standardlabel"),
        GuardFinalRows("adjudication_criticalrole"),
    ]
