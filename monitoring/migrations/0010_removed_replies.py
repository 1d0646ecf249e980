"""Replies may be removed by the retention rule: the one change that a finished attempt or inquiry allows."""

from typing import Any

from django.db import migrations, models

from monitoring.migrations._guards import GuardAllButRemoval, Unguard

FINAL = "OLD.finished_at IS NOT NULL"
SENT = [
    "id",
    "number",
    "owner",
    "messages",
    "started_at",
    "finished_at",
    "finish_reason",
    "served_model",
    "input_tokens",
    "output_tokens",
    "cost",
    "latency_ms",
    "error_kind",
    "error",
]
KEPT = {
    "attempt": ["call_id", *SENT],
    "inquiry": ["study_id", "kind", "key", "model", "reserved", *SENT],
}


def _steps(model: str) -> list[Any]:
    return [
        Unguard(f"monitoring_{model}", final=FINAL),
        migrations.AddField(
            model,
            "reply_sha256",
            models.CharField(
                max_length=64, null=True, help_text="of the reply, kept when its text is removed"
            ),
        ),
        migrations.AddField(
            model,
            "reply_removed_at",
            models.DateTimeField(null=True, help_text="by the retention rule of the study"),
        ),
        GuardAllButRemoval(f"monitoring_{model}", final=FINAL, kept=KEPT[model]),
    ]


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0010_invitations_and_guards"),
        ("monitoring", "0009_concerns"),
    ]

    operations = [*_steps("attempt"), *_steps("inquiry")]
