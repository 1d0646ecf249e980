"""Rows that are final refuse UPDATE and DELETE in the database itself."""

from django.db import migrations

from core.guards import GuardFinalRows


class Migration(migrations.Migration):
    dependencies = [("verification", "0001_layers_and_audits")]

    operations = [
        GuardFinalRows("verification_taskspecification"),
        GuardFinalRows("verification_rule"),
        GuardFinalRows("verification_obligationmapping"),
        GuardFinalRows("verification_executionrecord"),
        GuardFinalRows("verification_certificatesubmission"),
        GuardFinalRows("verification_flag"),
        GuardFinalRows("verification_expertruling"),
        GuardFinalRows("verification_keyaudit"),
        GuardFinalRows("verification_auditedresponse"),
        GuardFinalRows("verification_auditdecision"),
    ]
