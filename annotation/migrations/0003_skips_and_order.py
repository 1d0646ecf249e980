"""Skipped traces, and the order of tokens in which a study's traces are handed out."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0002_final_rows"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Skip",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("reason", models.CharField(max_length=500)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.AddIndex(
            model_name="trace",
            index=models.Index(fields=["study", "token"], name="trace_by_token"),
        ),
        migrations.AddField(
            model_name="skip",
            name="person",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="skips", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="skip",
            name="trace",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="skips", to="annotation.trace"
            ),
        ),
        migrations.AddConstraint(
            model_name="skip",
            constraint=models.UniqueConstraint(
                fields=("trace", "person"), name="one skip per person and trace"
            ),
        ),
        migrations.AddConstraint(
            model_name="skip",
            constraint=models.CheckConstraint(
                condition=models.Q(("reason", ""), _negated=True), name="a skip states its reason"
            ),
        ),
    ]
