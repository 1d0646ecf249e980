"""A failed call may be tried again; the row of a failure may give way; the pace of a monitor is shared."""

from django.db import migrations, models
from django.db.models import Q

from core.guards import GuardFinalRows
from monitoring.migrations._guards import GuardDelete, Unguard


class Migration(migrations.Migration):
    dependencies = [("monitoring", "0002_final_rows")]

    operations = [
        migrations.AddField(
            model_name="call",
            name="failures",
            field=models.PositiveSmallIntegerField(
                default=0, help_text="failed requests since the launch, or since the last order to try again"
            ),
        ),
        migrations.AddIndex(
            model_name="call",
            index=models.Index(condition=Q(status="pending"), fields=["run", "id"], name="call_to_claim"),
        ),
        migrations.CreateModel(
            name="Pace",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "current",
                    models.FloatField(help_text="null: as many as the monitor's concurrency", null=True),
                ),
                ("shrunk_at", models.DateTimeField(null=True)),
                (
                    "not_before",
                    models.DateTimeField(
                        help_text="no request leaves earlier: the provider asked so", null=True
                    ),
                ),
                (
                    "monitor",
                    models.OneToOneField(
                        on_delete=models.CASCADE, related_name="pace", to="monitoring.monitor"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=Q(("current__isnull", True), ("current__gte", 1), _connector="OR"),
                        name="a pace lets at least one request pass",
                    )
                ],
            },
        ),
        Unguard("monitoring_verdict"),
        GuardFinalRows("monitoring_verdict", delete=False),
        GuardDelete("monitoring_verdict", final="OLD.outcome IN ('ok', 'inconsistent')"),
    ]
