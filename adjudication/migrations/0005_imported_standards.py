"""Whether a release brought a standard."""

from django.db import migrations, models

from core.guards import GuardFinalRows, UnguardFinalRows


class Migration(migrations.Migration):
    dependencies = [
        ("adjudication", "0004_rules_and_guesses"),
    ]

    operations = [
        # SQLite makes the table anew for the column, without its triggers.
        UnguardFinalRows("adjudication_referencestandard"),
        migrations.AddField(
            model_name="referencestandard",
            name="imported",
            field=models.BooleanField(
                default=False,
                help_text="whether a release brought it: its labels then stand by the release's word",
            ),
        ),
        GuardFinalRows("adjudication_referencestandard"),
    ]
