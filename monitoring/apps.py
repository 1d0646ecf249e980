"""App configuration."""

from django.apps import AppConfig


class MonitoringConfig(AppConfig):
    name = "monitoring"

    def ready(self) -> None:
        # Models are loaded only now; importing the tasks is what registers them with Celery.
        from monitoring import line
        from monitoring.report import stage, tasks  # noqa: F401

        line.register()
        stage.register()
