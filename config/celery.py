"""The Celery application: the broker only wakes workers, the database holds the truth."""

import os

from celery import Celery
from django.conf import settings

from config import broker

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

broker.install()
app = Celery("falsestep")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.autodiscover_tasks(["monitoring.report"])

SWEEP_EVERY = 10.0
app.conf.beat_schedule = {
    "sweep": {
        "task": "monitoring.tasks.sweep",
        "schedule": SWEEP_EVERY,
        # A worker busy with a batch finds no pile of old sweeps afterwards.
        "options": {"expires": SWEEP_EVERY},
    }
}


@app.on_after_configure.connect
def _keep_the_clock_at_home(sender: Celery, **_: object) -> None:
    """Beat notes when it last ran beside the rest of our files, not in the working directory."""
    sender.conf.beat_schedule_filename = str(settings.HOME / "celerybeat-schedule")
