"""A failed call may be tried again: its failures are counted, and the row of a failure may give way."""

from typing import Any

from django.db import migrations, models
from django.db.models import Q

from core.guards import GuardFinalRows


class _Unguard(GuardFinalRows):
    """Take a guard away."""

    def database_forwards(self, *args: Any) -> None:
        super().database_backwards(*args)

    def database_backwards(self, *args: Any) -> None:
        super().database_forwards(*args)

    def describe(self) -> str:
        return f"Take away the guard of {self.table}"


class _GuardDelete(GuardFinalRows):
    """Refuse DELETE only."""

    @property
    def verbs(self) -> list[str]:
        return ["DELETE"]


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
        _Unguard("monitoring_verdict"),
        GuardFinalRows("monitoring_verdict", delete=False),
        _GuardDelete("monitoring_verdict", final="OLD.outcome IN ('ok', 'inconsistent')"),
    ]
