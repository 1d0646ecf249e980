"""Indexes of what checks and obligations leave to a person."""

from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0008_pilot_judgements"),
        ("verification", "0002_final_rows"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddIndex(
            model_name="checkresult",
            index=models.Index(
                condition=models.Q(("status", "unresolved")), fields=["trace"], name="checks_left_to_a_person"
            ),
        ),
        migrations.AddIndex(
            model_name="obligationmapping",
            index=models.Index(
                condition=models.Q(("status", "unresolved")),
                fields=["trace"],
                name="mappings_left_to_a_person",
            ),
        ),
    ]
