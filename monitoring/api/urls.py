"""Addresses of the API of monitors, batches and reports."""

from django.urls import path

from monitoring.api import views

BATCH = "studies/<slug:slug>/batches/<int:number>/"

urlpatterns = [
    path("studies/<slug:slug>/monitors/", views.MonitorsView.as_view(), name="api-monitors"),
    path("studies/<slug:slug>/plan/", views.PlanView.as_view(), name="api-plan"),
    path("studies/<slug:slug>/batches/", views.BatchesView.as_view(), name="api-batches"),
    path(BATCH, views.BatchView.as_view(), name="api-batch"),
    path(BATCH + "pause/", views.PauseView.as_view(), name="api-batch-pause"),
    path(BATCH + "resume/", views.ResumeView.as_view(), name="api-batch-resume"),
    path(BATCH + "cancel/", views.CancelView.as_view(), name="api-batch-cancel"),
    path(BATCH + "retry/", views.RetryView.as_view(), name="api-batch-retry"),
    path("studies/<slug:slug>/reports/<int:version>/", views.ReportView.as_view(), name="api-report"),
]
