"""App configuration."""

from django.apps import AppConfig


class VerificationConfig(AppConfig):
    name = "verification"

    def ready(self) -> None:
        from verification import line  # the models are there only now

        line.register()
