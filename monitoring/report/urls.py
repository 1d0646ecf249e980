"""Addresses of the report."""

from django.urls import path

from monitoring.report import views

urlpatterns = [
    path("studies/<slug:slug>/report/", views.report_latest, name="report_latest"),
    path("studies/<slug:slug>/report/<int:version>/", views.report, name="report"),
    path("studies/<slug:slug>/report/<int:version>/compute/", views.report_compute, name="report_compute"),
    path("studies/<slug:slug>/report/<int:version>/report.json", views.report_json, name="report_json"),
    path("studies/<slug:slug>/report/<int:version>/methods.txt", views.report_methods, name="report_methods"),
    path("studies/<slug:slug>/report/<int:version>/traces/", views.report_traces, name="report_traces"),
    path(
        "studies/<slug:slug>/report/<int:version>/beside/<int:other>/",
        views.standard_figures,
        name="standard_figures",
    ),
]
