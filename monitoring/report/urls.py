"""Addresses of the report."""

from django.urls import path

from monitoring.report import views

urlpatterns = [
    path("studies/<slug:slug>/report/", views.report_latest, name="report_latest"),
    path("studies/<slug:slug>/report/<int:version>/", views.report, name="report"),
    path("studies/<slug:slug>/report/<int:version>/compute/", views.report_compute, name="report_compute"),
    path("studies/<slug:slug>/report/<int:version>/report.json", views.report_json, name="report_json"),
]
