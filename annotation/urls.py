"""Addresses of the home page, of a study and of the annotators' desk."""

from django.urls import path

from annotation.views import annotate, arm, exports, home, overview, queue

urlpatterns = [
    path("", home.home, name="home"),
    path("studies/<slug:slug>/", home.study, name="study"),
    path("studies/<slug:slug>/questions/", overview.questions, name="questions"),
    path("studies/<slug:slug>/arm/", arm.arm, name="arm"),
    path("studies/<slug:slug>/coverage/", arm.coverage, name="coverage"),
    path("studies/<slug:slug>/labels/", exports.exports, name="exports"),
    path("studies/<slug:slug>/labels/download/", exports.download_labels, name="download_labels"),
    path("studies/<slug:slug>/guideline/", annotate.guideline, name="guideline"),
    path("studies/<slug:slug>/queue/", queue.queue, name="queue"),
    path("studies/<slug:slug>/queue/next/", queue.queue_next, name="queue_next"),
    path("studies/<slug:slug>/traces/<slug:token>/", annotate.annotate, name="annotate"),
    path("studies/<slug:slug>/traces/<slug:token>/draft/", annotate.draft, name="draft"),
    path("studies/<slug:slug>/traces/<slug:token>/key/", annotate.key_report, name="report_key"),
    path("studies/<slug:slug>/traces/<slug:token>/skip/", annotate.skip, name="skip"),
]
