"""Requests for concerns about traces; the database is not touched."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("monitoring", "0008_provider_batches")]

    operations = [
        migrations.AlterField(
            model_name="inquiry",
            name="kind",
            field=models.CharField(
                choices=[("debate", "Debate"), ("generation", "Generation"), ("concerns", "Concerns")],
                max_length=12,
            ),
        ),
    ]
