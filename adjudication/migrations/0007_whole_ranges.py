"""A range with one end only is refused: a comparison with null is unknown, and a CHECK lets that pass."""

from django.db import migrations, models
from django.db.models import F, Q

from core.guards import GuardFinalRows, UnguardFinalRows

WHOLE = Q(first_error_step_min__isnull=True, first_error_step_max__isnull=True) | Q(
    first_error_step__isnull=False,
    first_error_step_min__isnull=False,
    first_error_step_max__isnull=False,
    first_error_step_min__gte=1,
    first_error_step_min__lte=F("first_error_step"),
    first_error_step_max__gte=F("first_error_step"),
)


class Migration(migrations.Migration):
    dependencies = [("adjudication", "0006_count_disputes")]

    operations = [
        # SQLite makes the table anew for a constraint, without its triggers.
        UnguardFinalRows("adjudication_decision"),
        migrations.RemoveConstraint(model_name="decision", name="decision range holds its step"),
        migrations.AddConstraint(
            model_name="decision",
            constraint=models.CheckConstraint(condition=WHOLE, name="decision range holds its step"),
        ),
        GuardFinalRows("adjudication_decision"),
        UnguardFinalRows("adjudication_standardlabel"),
        migrations.RemoveConstraint(model_name="standardlabel", name="standard range holds its step"),
        migrations.AddConstraint(
            model_name="standardlabel",
            constraint=models.CheckConstraint(condition=WHOLE, name="standard range holds its step"),
        ),
        GuardFinalRows("adjudication_standardlabel"),
    ]
