"""How many calls, verdicts and failures a run has, and what it cost, kept beside it; what is there is counted once."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q

from monitoring.migrations import _counts


class Migration(migrations.Migration):
    dependencies = [("monitoring", "0010_removed_replies")]

    operations = [
        migrations.CreateModel(
            name="RunCount",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="counts",
                        to="monitoring.run",
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("call", "calls, by status"),
                            ("verdict", "verdicts, by outcome"),
                            ("error", "failed attempts, by kind"),
                            ("cost", "what the attempts cost, in 1e-8 USD"),
                        ],
                        max_length=10,
                    ),
                ),
                ("name", models.CharField(blank=True, max_length=20)),
                ("number", models.BigIntegerField()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=["run", "kind", "name"], name="one count per run, kind and name"
                    )
                ],
            },
        ),
        migrations.AddIndex(
            model_name="attempt",
            index=models.Index(condition=~Q(error_kind=""), fields=["id"], name="attempt_that_failed"),
        ),
        migrations.RunPython(_counts.start, _counts.stop),
    ]
