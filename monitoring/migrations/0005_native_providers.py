"""Monitors may speak Anthropic's and Google's own protocols; only the choices and a help text change."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("monitoring", "0004_ok_verdicts_say_something"),
    ]

    operations = [
        migrations.AlterField(
            model_name="monitor",
            name="options",
            field=models.JSONField(
                default=dict,
                help_text="settings of its provider alone, such as the rate of an offline baseline",
            ),
        ),
        migrations.AlterField(
            model_name="monitor",
            name="provider",
            field=models.CharField(
                choices=[
                    ("openai_compatible", "OpenAI-compatible"),
                    ("anthropic", "Anthropic"),
                    ("google", "Google"),
                    ("scripted", "Scripted"),
                    ("oracle", "Oracle"),
                    ("always", "Always"),
                    ("never", "Never"),
                    ("random", "Random"),
                    ("replay", "Replay"),
                    ("rules", "Rules"),
                    ("released", "Released"),
                ],
                max_length=20,
            ),
        ),
    ]
