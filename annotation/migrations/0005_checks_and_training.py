"""Check items for training and calibration, and what people said of them."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from core.guards import GuardFinalRows


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0004_time_of_a_label"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="CheckItem",
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
                        choices=[("worked", "Worked"), ("gate", "Gate"), ("hidden", "Hidden")], max_length=10
                    ),
                ),
                ("final_correct", models.BooleanField()),
                ("first_error_step_min", models.PositiveIntegerField(null=True)),
                ("first_error_step_max", models.PositiveIntegerField(null=True)),
                ("explanation", models.TextField(blank=True)),
                ("position", models.PositiveIntegerField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="check_items",
                        to="annotation.study",
                    ),
                ),
                (
                    "trace",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="check_item",
                        to="annotation.trace",
                    ),
                ),
            ],
            options={
                "ordering": ["study", "kind", "position", "pk"],
            },
        ),
        migrations.CreateModel(
            name="GateAnswer",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("attempt", models.PositiveSmallIntegerField()),
                ("final_correct", models.BooleanField()),
                ("first_error_step", models.PositiveIntegerField(null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "item",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="answers",
                        to="annotation.checkitem",
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="gate_answers",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="GateResult",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("attempt", models.PositiveSmallIntegerField()),
                ("items", models.PositiveIntegerField()),
                ("answers_right", models.PositiveIntegerField()),
                ("steps_right", models.PositiveIntegerField()),
                ("answer_mark", models.PositiveSmallIntegerField()),
                ("step_mark", models.PositiveSmallIntegerField()),
                ("passed", models.BooleanField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="gate_results",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "study",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="gate_results",
                        to="annotation.study",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="TrainingPlan",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("answer_mark", models.PositiveSmallIntegerField(default=80)),
                ("step_mark", models.PositiveSmallIntegerField(default=60)),
                ("attempts", models.PositiveSmallIntegerField(default=3)),
                (
                    "study",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="training_plan",
                        to="annotation.study",
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="checkitem",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["worked", "gate", "hidden"])),
                name="a check item is of one of three kinds",
            ),
        ),
        migrations.AddConstraint(
            model_name="checkitem",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("first_error_step_max__isnull", True), ("first_error_step_min__isnull", True)),
                    models.Q(
                        ("first_error_step_max__gte", models.F("first_error_step_min")),
                        ("first_error_step_max__isnull", False),
                        ("first_error_step_min__gte", 1),
                        ("first_error_step_min__isnull", False),
                    ),
                    _connector="OR",
                ),
                name="a check item expects a range of steps or none",
            ),
        ),
        migrations.AddConstraint(
            model_name="checkitem",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("kind", "hidden"), models.Q(("explanation", ""), _negated=True), _connector="OR"
                ),
                name="a check item that people see explains itself",
            ),
        ),
        migrations.AddConstraint(
            model_name="gateanswer",
            constraint=models.UniqueConstraint(
                fields=("item", "person", "attempt"), name="one gate answer per item, person and attempt"
            ),
        ),
        migrations.AddConstraint(
            model_name="gateanswer",
            constraint=models.CheckConstraint(
                condition=models.Q(("attempt__gte", 1)), name="gate attempts are counted from 1"
            ),
        ),
        migrations.AddConstraint(
            model_name="gateanswer",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("first_error_step__isnull", True), ("first_error_step__gte", 1), _connector="OR"
                ),
                name="gate step is null or at least 1",
            ),
        ),
        migrations.AddConstraint(
            model_name="gateresult",
            constraint=models.UniqueConstraint(
                fields=("study", "person", "attempt"), name="one gate result per person and attempt"
            ),
        ),
        migrations.AddConstraint(
            model_name="gateresult",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("answers_right__lte", models.F("items")),
                    ("items__gte", 1),
                    ("steps_right__lte", models.F("items")),
                ),
                name="no more gate judgements are right than were made",
            ),
        ),
        migrations.AddConstraint(
            model_name="trainingplan",
            constraint=models.CheckConstraint(
                condition=models.Q(("answer_mark__lte", 100), ("step_mark__lte", 100)),
                name="pass marks are percentages",
            ),
        ),
        migrations.AddConstraint(
            model_name="trainingplan",
            constraint=models.CheckConstraint(
                condition=models.Q(("attempts__gte", 1)), name="the gate may be tried once at least"
            ),
        ),
        GuardFinalRows("annotation_gateanswer"),
        GuardFinalRows("annotation_gateresult"),
    ]
