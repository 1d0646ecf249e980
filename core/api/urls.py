"""Addresses of the API that belong to no study."""

from django.urls import path

from core.api import views

urlpatterns = [
    path("me/", views.MeView.as_view(), name="api-me"),
    path("schema/", views.SchemaView.as_view(), name="api-schema"),
]
