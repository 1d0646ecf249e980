"""Rows that are final refuse UPDATE and DELETE in the database itself."""

from django.db import migrations

from core.guards import GuardFinalRows


class Migration(migrations.Migration):
    dependencies = [("annotation", "0001_studies_and_labels")]

    operations = [
        GuardFinalRows("annotation_guidelineversion"),
        GuardFinalRows("annotation_referenceanswer"),
        GuardFinalRows("annotation_trace"),
        GuardFinalRows("annotation_label"),
        GuardFinalRows("annotation_keyreport"),
    ]
