"""Invitations by link, a canary string for each study, and how long replies are kept."""

from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import annotation.models.study


def give_canaries(apps: Any, schema_editor: Any) -> None:
    """Give each study a canary of its own."""
    Study = apps.get_model("annotation", "Study")
    for study in Study.objects.filter(canary=None).only("pk").iterator():
        Study.objects.filter(pk=study.pk).update(canary=annotation.models.study.new_canary())


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0009_whole_ranges"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Invitation",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("roles", models.CharField(help_text="words of Role with spaces between", max_length=60)),
                ("name", models.CharField(help_text="for whom it was made", max_length=100)),
                (
                    "email",
                    models.EmailField(
                        blank=True,
                        help_text="who signs in by OpenID with it is let in without the link",
                        max_length=254,
                    ),
                ),
                ("created_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
                ("revoked_at", models.DateTimeField(null=True)),
                ("accepted_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.AddField(
            model_name="study",
            name="canary",
            field=models.CharField(
                editable=False,
                null=True,
                help_text="stands in every export with texts, so that training data that holds them can be told",
                max_length=60,
            ),
        ),
        # A default of AddField would give every study the same one.
        migrations.RunPython(give_canaries, migrations.RunPython.noop),
        migrations.AlterField(
            model_name="study",
            name="canary",
            field=models.CharField(
                default=annotation.models.study.new_canary,
                editable=False,
                help_text="stands in every export with texts, so that training data that holds them can be told",
                max_length=60,
                unique=True,
            ),
        ),
        migrations.AddField(
            model_name="study",
            name="keep_replies_days",
            field=models.PositiveSmallIntegerField(
                help_text="days after which the texts of models' replies are removed; null keeps them",
                null=True,
            ),
        ),
        migrations.AddConstraint(
            model_name="study",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("keep_replies_days__isnull", True), ("keep_replies_days__gte", 1), _connector="OR"
                ),
                name="replies are kept for at least a day",
            ),
        ),
        migrations.AddField(
            model_name="invitation",
            name="accepted_by",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="invitation",
            name="invited_by",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="invitation",
            name="study",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="invitations", to="annotation.study"
            ),
        ),
        migrations.AddIndex(
            model_name="invitation",
            index=models.Index(
                condition=models.Q(("email", ""), _negated=True), fields=["email"], name="invitation_by_email"
            ),
        ),
        migrations.AddConstraint(
            model_name="invitation",
            constraint=models.CheckConstraint(
                condition=models.Q(("expires_at__gt", models.F("created_at"))),
                name="an invitation expires after it was made",
            ),
        ),
        migrations.AddConstraint(
            model_name="invitation",
            constraint=models.CheckConstraint(
                condition=models.Q(("roles", ""), _negated=True), name="an invitation gives a role"
            ),
        ),
        migrations.AddConstraint(
            model_name="invitation",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("accepted_at__isnull", True), ("revoked_at__isnull", True), _connector="OR"
                ),
                name="an invitation is accepted or revoked, not both",
            ),
        ),
        migrations.AddConstraint(
            model_name="invitation",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("accepted_at__isnull", True), ("accepted_by__isnull", True)),
                    models.Q(("accepted_at__isnull", False), ("accepted_by__isnull", False)),
                    _connector="OR",
                ),
                name="somebody accepted an accepted invitation",
            ),
        ),
    ]
