"""A label keeps the time that an export brings. The column is as it was, so no table is touched."""

import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotation", "0003_skips_and_order")]

    operations = [
        # On SQLite an AlterField would make the table anew and lose its guards.
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField(
                    model_name="label",
                    name="created_at",
                    field=models.DateTimeField(
                        default=django.utils.timezone.now,
                        editable=False,
                        help_text="when it was made; an export that comes back keeps it",
                    ),
                ),
            ],
        ),
    ]
