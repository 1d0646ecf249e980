"""An index that holds all that the counts of disputes read."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("adjudication", "0005_imported_standards"),
        ("annotation", "0008_pilot_judgements"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="dispute",
            index=models.Index(
                fields=[
                    "study",
                    "status",
                    "awaits_labels",
                    "differs_in_answer",
                    "differs_in_presence",
                    "differs_in_step",
                ],
                name="dispute_counts",
            ),
        ),
    ]
