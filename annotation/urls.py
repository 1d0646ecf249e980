"""Addresses of the home page, of a study and of the annotators' desk."""

from django.urls import path

from annotation.views import home

urlpatterns = [
    path("", home.home, name="home"),
    path("studies/<slug:slug>/", home.study, name="study"),
]
