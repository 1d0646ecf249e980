"""Chunks of calls that were handed to a provider's batch API."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("monitoring", "0007_inquiries"),
    ]

    operations = [
        migrations.CreateModel(
            name="ProviderBatch",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("tag", models.CharField(max_length=40, unique=True)),
                ("handle", models.CharField(blank=True, max_length=200)),
                (
                    "status",
                    models.CharField(
                        choices=[("submitting", "Submitting"), ("waiting", "Waiting"), ("over", "Over")],
                        default="submitting",
                        max_length=12,
                    ),
                ),
                ("n_calls", models.PositiveIntegerField(default=0)),
                (
                    "lease_until",
                    models.DateTimeField(help_text="until when somebody is handing it in", null=True),
                ),
                ("next_poll_at", models.DateTimeField(null=True)),
                ("polls", models.PositiveIntegerField(default=0)),
                ("error", models.TextField(blank=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="provider_batches",
                        to="monitoring.run",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "provider batches",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("status", "waiting"), _negated=True),
                            models.Q(
                                models.Q(("handle", ""), _negated=True), ("next_poll_at__isnull", False)
                            ),
                            _connector="OR",
                        ),
                        name="a provider batch that waits has a handle and a time to look",
                    )
                ],
            },
        ),
    ]
