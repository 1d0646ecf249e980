"""The Celery application: the broker only wakes workers, the database holds the truth."""

import os
from typing import Any

from celery import Celery, signals
from django.conf import settings

from config import broker
from core import logs

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

broker.install()
app = Celery("falsestep")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.autodiscover_tasks(["monitoring.report"])

SWEEP_EVERY = 10.0
RETENTION_EVERY = 6 * 3600.0
app.conf.beat_schedule = {
    "sweep": {
        "task": "monitoring.tasks.sweep",
        "schedule": SWEEP_EVERY,
        # A worker busy with a batch finds no pile of old sweeps afterwards.
        "options": {"expires": SWEEP_EVERY},
    },
    "remove replies": {
        "task": "monitoring.tasks.remove_replies",
        "schedule": RETENTION_EVERY,
        "options": {"expires": RETENTION_EVERY},
    },
}


@app.on_after_configure.connect
def _keep_the_clock_at_home(sender: Celery, **_: object) -> None:
    """Beat notes when it last ran beside the rest of our files, not in the working directory."""
    sender.conf.beat_schedule_filename = str(settings.HOME / "celerybeat-schedule")


@signals.before_task_publish.connect
def _hand_on_the_request(headers: dict[str, Any] | None = None, **_: object) -> None:
    """A task carries the id of the request that asked for it."""
    if headers is not None and (found := logs.request_id.get()):
        headers["request_id"] = found


@signals.task_prerun.connect
def _take_the_request(task_id: str = "", task: Any = None, **_: object) -> None:
    """Every line that a task logs has the id of its request, or its own."""
    request = getattr(task, "request", None)
    # A worker puts a message's headers beside its own fields; a task that is run in place keeps them apart.
    given = getattr(request, "request_id", None) or (getattr(request, "headers", None) or {}).get(
        "request_id"
    )
    logs.request_id.set(logs.new_request_id(given or task_id))


@signals.task_postrun.connect
def _leave_the_request(**_: object) -> None:
    logs.request_id.set("")
