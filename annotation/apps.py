"""App configuration."""

from django.apps import AppConfig


class AnnotationConfig(AppConfig):
    name = "annotation"

    def ready(self) -> None:
        from annotation import line  # the models are there only now

        line.register()
