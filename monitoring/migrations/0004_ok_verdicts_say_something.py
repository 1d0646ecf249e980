"""An ok verdict says whether there is an error: a null passed the constraint, since SQL takes unknown for true."""

from django.db import migrations, models
from django.db.models import Q

from core.guards import GuardFinalRows
from monitoring.migrations._guards import GuardDelete, Unguard, UnguardDelete

SAID = "OLD.outcome IN ('ok', 'inconsistent')"


class Migration(migrations.Migration):
    dependencies = [("monitoring", "0003_retry_failed_calls")]

    operations = [
        # SQLite remakes the table for the constraint, and its triggers would be lost.
        Unguard("monitoring_verdict", delete=False),
        UnguardDelete("monitoring_verdict", final=SAID),
        migrations.AddConstraint(
            model_name="verdict",
            constraint=models.CheckConstraint(
                condition=~Q(outcome="ok") | Q(has_error__isnull=False),
                name="an ok verdict says whether there is an error",
            ),
        ),
        GuardFinalRows("monitoring_verdict", delete=False),
        GuardDelete("monitoring_verdict", final=SAID),
    ]
