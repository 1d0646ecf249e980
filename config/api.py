"""Addresses of the API, version 1: each app brings its own."""

from django.urls import include, path, re_path

from core.api.views import NotFoundView

urlpatterns = [
    path("v1/", include("core.api.urls")),
    path("v1/", include("annotation.api.urls")),
    path("v1/", include("adjudication.api.urls")),
    path("v1/", include("monitoring.api.urls")),
    re_path(r"", NotFoundView.as_view(), name="api-nowhere"),
]
