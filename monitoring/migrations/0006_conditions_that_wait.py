"""Calls may wait for others, or be skipped; a run names the BLIND run it goes on from; native providers."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("monitoring", "0005_native_providers"),
    ]

    operations = [
        migrations.AddField(
            model_name="call",
            name="invalid_replies",
            field=models.PositiveSmallIntegerField(
                default=0, help_text="replies without a verdict that led to another try"
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="prior_run",
            field=models.ForeignKey(
                help_text="the BLIND run whose verdicts REVISE and RCTRL go on from",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="follow_ups",
                to="monitoring.run",
            ),
        ),
        migrations.AlterField(
            model_name="call",
            name="status",
            field=models.CharField(
                choices=[
                    ("waiting", "Waiting"),
                    ("skipped", "Skipped"),
                    ("pending", "Pending"),
                    ("running", "Running"),
                    ("done", "Done"),
                    ("cancelled", "Cancelled"),
                ],
                default="pending",
                max_length=10,
            ),
        ),
        migrations.AlterField(
            model_name="monitor",
            name="provider",
            field=models.CharField(
                choices=[
                    ("openai_compatible", "OpenAI-compatible"),
                    ("anthropic", "Anthropic"),
                    ("google", "Google"),
                    ("scripted", "Scripted"),
                    ("oracle", "Oracle"),
                    ("always", "Always"),
                    ("never", "Never"),
                    ("random", "Random"),
                    ("replay", "Replay"),
                    ("rules", "Rules"),
                    ("released", "Released"),
                ],
                max_length=20,
            ),
        ),
    ]
