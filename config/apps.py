"""The composition as an app, so that its system checks are registered."""

from django.apps import AppConfig


class CompositionConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        from config import checks  # noqa: F401  (registering is the import's effect)
