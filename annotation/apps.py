"""App configuration."""

from django.apps import AppConfig


class AnnotationConfig(AppConfig):
    name = "annotation"

    def ready(self) -> None:
        from annotation import line  # the models are there only now
        from annotation.services.invitations import accept_by_email
        from core import oidc

        line.register()
        oidc.register_newcomers(accept_by_email)
