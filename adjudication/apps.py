"""App configuration."""

from django.apps import AppConfig


class AdjudicationConfig(AppConfig):
    name = "adjudication"

    def ready(self) -> None:
        # Models can be imported only once the apps are loaded.
        from adjudication import settled, stage, unsettled
        from adjudication.services import standards
        from adjudication.services.disputes import follow_labels
        from annotation import hooks, needs
        from core import audit, backup

        stage.register()
        settled.register()
        needs.register(unsettled.disputed)
        hooks.on_labels_changed(follow_labels)
        backup.register(
            "standards",
            "SELECT study.slug, standard.version, standard.sha256 FROM adjudication_referencestandard standard "
            "JOIN annotation_study study ON study.id = standard.study_id ORDER BY 1, 2",
        )
        audit.register(standards.changed_behind_the_guards)
