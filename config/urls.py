"""Addresses: each app brings its own."""

from django.urls import include, path

from core.health import healthz
from core.metrics import metrics

urlpatterns = [
    path("api/", include("config.api")),
    path("healthz", healthz, name="healthz"),
    path("metrics", metrics, name="metrics"),
    path("", include("core.urls")),
    path("", include("annotation.urls")),
    path("", include("adjudication.urls")),
    path("", include("verification.urls")),
    path("", include("monitoring.urls")),
]

handler400 = "core.views.unfit"
handler500 = "core.views.failed"
