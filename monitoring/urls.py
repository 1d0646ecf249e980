"""Addresses of monitors and batches."""

from django.urls import include, path

from monitoring.asked import views as asked
from monitoring.concerns import views as concerns
from monitoring.graders import views as graders
from monitoring.views import batches, monitors, runs

RUN = "studies/<slug:slug>/batches/<int:number>/runs/<str:monitor>/<str:condition>"

urlpatterns = [
    path("", include("monitoring.report.urls")),
    path("studies/<slug:slug>/graders/", graders.latest, name="study_graders_latest"),
    path("studies/<slug:slug>/graders/<int:version>/", graders.graders, name="study_graders"),
    path("studies/<slug:slug>/concerns/", concerns.concerns, name="concerns"),
    path("studies/<slug:slug>/concerns/ask/", concerns.ask, name="concerns_ask"),
    path("studies/<slug:slug>/monitors/", monitors.monitors, name="monitors"),
    path("studies/<slug:slug>/monitors/add/", monitors.add, name="monitor_add"),
    path("studies/<slug:slug>/asked/debate/", asked.debate, name="debate_order"),
    path("studies/<slug:slug>/asked/traces/", asked.generation, name="generation_order"),
    path("studies/<slug:slug>/batches/", batches.batches, name="batches"),
    path("studies/<slug:slug>/batches/new/", batches.new, name="batch_new"),
    path("studies/<slug:slug>/batches/<int:number>/", batches.batch, name="batch"),
    path("studies/<slug:slug>/batches/<int:number>/progress/", batches.progress, name="batch_progress"),
    path("studies/<slug:slug>/batches/<int:number>/pause/", batches.pause, name="batch_pause"),
    path("studies/<slug:slug>/batches/<int:number>/resume/", batches.resume, name="batch_resume"),
    path("studies/<slug:slug>/batches/<int:number>/cancel/", batches.cancel, name="batch_cancel"),
    path("studies/<slug:slug>/batches/<int:number>/retry/", batches.retry, name="batch_retry"),
    path(f"{RUN}/", runs.run, name="run"),
    path(f"{RUN}/traces/<str:token>/", runs.run_trace, name="run_trace"),
    path(f"{RUN}/download/", runs.run_download, name="run_download"),
    path(f"{RUN}/inspect/", runs.run_inspect, name="run_inspect"),
]
