"""Requests of the debate and of generation, final once they are finished."""

import django.db.models.deletion
from django.db import migrations, models

from core.guards import GuardFinalRows


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0006_debate_rounds"),
        ("monitoring", "0006_conditions_that_wait"),
    ]

    operations = [
        migrations.CreateModel(
            name="Inquiry",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[("debate", "Debate"), ("generation", "Generation")], max_length=12
                    ),
                ),
                ("key", models.CharField(max_length=200)),
                ("number", models.PositiveSmallIntegerField()),
                ("owner", models.CharField(max_length=120)),
                ("model", models.CharField(max_length=200)),
                ("messages", models.JSONField(default=list)),
                ("reserved", models.DecimalField(decimal_places=8, default=0, max_digits=14)),
                ("started_at", models.DateTimeField()),
                ("finished_at", models.DateTimeField(null=True)),
                ("reply", models.TextField(blank=True)),
                ("finish_reason", models.CharField(blank=True, max_length=40)),
                ("served_model", models.CharField(blank=True, max_length=200)),
                ("input_tokens", models.PositiveIntegerField(null=True)),
                ("output_tokens", models.PositiveIntegerField(null=True)),
                ("cost", models.DecimalField(decimal_places=8, default=0, max_digits=14)),
                ("latency_ms", models.PositiveIntegerField(null=True)),
                ("error_kind", models.CharField(blank=True, max_length=20)),
                ("error", models.TextField(blank=True)),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="inquiries",
                        to="annotation.study",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "inquiries",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("study", "kind", "key", "number"), name="one inquiry per number and key"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("finished_at__isnull", True)),
                        fields=("study", "kind", "key"),
                        name="one inquiry of a key under way",
                    ),
                ],
            },
        ),
        GuardFinalRows("monitoring_inquiry", final="OLD.finished_at IS NOT NULL"),
    ]
