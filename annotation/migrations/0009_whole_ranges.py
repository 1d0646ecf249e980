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
    dependencies = [("annotation", "0008_pilot_judgements")]

    operations = [
        # SQLite makes the table anew for a constraint, without its triggers.
        UnguardFinalRows("annotation_label"),
        migrations.RemoveConstraint(model_name="label", name="label range holds its step"),
        migrations.AddConstraint(
            model_name="label",
            constraint=models.CheckConstraint(condition=WHOLE, name="label range holds its step"),
        ),
        GuardFinalRows("annotation_label"),
    ]
