"""App configuration."""

from django.apps import AppConfig


class AdjudicationConfig(AppConfig):
    name = "adjudication"

    def ready(self) -> None:
        # Models can be imported only once the apps are loaded.
        from adjudication import settled, stage

        stage.register()
        settled.register()
