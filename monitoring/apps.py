"""App configuration."""

from django.apps import AppConfig


class MonitoringConfig(AppConfig):
    name = "monitoring"

    def ready(self) -> None:
        # Models are loaded only now; importing the tasks is what registers them with Celery.
        from core import doctor, metrics
        from monitoring import line
        from monitoring.metrics import gauges
        from monitoring.report import stage, tasks  # noqa: F401
        from monitoring.working import somebody_works

        metrics.register(gauges)
        doctor.register(somebody_works)
        line.register()
        stage.register()
