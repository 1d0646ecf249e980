"""App configuration."""

from django.apps import AppConfig


class MonitoringConfig(AppConfig):
    name = "monitoring"

    def ready(self) -> None:
        from monitoring import line  # the models are there only now

        line.register()
