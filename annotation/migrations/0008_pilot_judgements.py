"""The richer judgements of a pilot study."""

import django.db.models.deletion
from django.db import migrations, models

from core.guards import GuardFinalRows


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0007_queue_progress"),
    ]

    operations = [
        migrations.CreateModel(
            name="PilotJudgement",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "coherence",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("coherent", "coherent"),
                            ("partly", "partly coherent"),
                            ("incoherent", "incoherent"),
                        ],
                        max_length=12,
                    ),
                ),
                (
                    "error_type",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("conceptual", "conceptual: the wrong physics or principle"),
                            ("mathematical", "mathematical: a false derivation"),
                            ("numerical", "numerical: arithmetic, units, constants"),
                            ("misreading", "misreading: another problem than the one asked"),
                            ("unsupported", "unsupported: a claim without grounds that is false"),
                            ("other", "other"),
                        ],
                        max_length=12,
                    ),
                ),
                (
                    "label",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="pilot",
                        to="annotation.label",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("coherence__in", ["", "coherent", "partly", "incoherent"])),
                        name="coherence is one of three",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "error_type__in",
                                [
                                    "",
                                    "conceptual",
                                    "mathematical",
                                    "numerical",
                                    "misreading",
                                    "unsupported",
                                    "other",
                                ],
                            )
                        ),
                        name="a kind of error is one of six",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("coherence", ""), ("error_type", ""), _negated=True),
                        name="a pilot judgement says something",
                    ),
                ],
            },
        ),
        GuardFinalRows("annotation_pilotjudgement"),
    ]
