"""The five rounds of the debate arm."""

import django.db.models.deletion
from django.db import migrations, models

from core.guards import GuardFinalRows


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0005_checks_and_training"),
    ]

    operations = [
        migrations.CreateModel(
            name="DebateRound",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "name",
                    models.CharField(
                        choices=[
                            ("R1", "first reading"),
                            ("R2", "attack"),
                            ("R3", "reply"),
                            ("blind", "second reading, without the first"),
                            ("consensus", "consensus"),
                        ],
                        max_length=10,
                    ),
                ),
                ("model", models.CharField(max_length=200)),
                (
                    "given",
                    models.JSONField(
                        default=dict, help_text="what the round was told besides question and trace"
                    ),
                ),
                ("said", models.JSONField(default=dict, help_text="the fields of its reply")),
                ("cost", models.DecimalField(decimal_places=6, help_text="USD", max_digits=12, null=True)),
                (
                    "source",
                    models.CharField(help_text="the file and line, or the run, it came from", max_length=200),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "trace",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="debate_rounds",
                        to="annotation.trace",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("trace", "name"), name="one debate round per name and trace"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("name__in", ["R1", "R2", "R3", "blind", "consensus"])),
                        name="a debate round is one of five",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("cost__isnull", True), ("cost__gte", 0), _connector="OR"),
                        name="a debate round costs nothing or more",
                    ),
                ],
            },
        ),
        GuardFinalRows("annotation_debateround"),
    ]
