"""Addresses of the API of studies and of the annotators' desk."""

from django.urls import path

from annotation.api import views, webhooks

WEBHOOKS = "studies/<slug:slug>/webhooks/"
TRACE = "studies/<slug:slug>/traces/<slug:token>/"

urlpatterns = [
    path("studies/", views.StudiesView.as_view(), name="api-studies"),
    path("studies/<slug:slug>/", views.StudyView.as_view(), name="api-study"),
    path("studies/<slug:slug>/guideline/", views.GuidelineView.as_view(), name="api-guideline"),
    path("studies/<slug:slug>/questions/", views.QuestionsView.as_view(), name="api-questions"),
    path("studies/<slug:slug>/key-reports/", views.ReportedKeysView.as_view(), name="api-key-reports"),
    path("studies/<slug:slug>/next/", views.NextView.as_view(), name="api-next"),
    path("studies/<slug:slug>/labels/", views.OwnLabelsView.as_view(), name="api-labels"),
    path("studies/<slug:slug>/drafts/", views.OwnDraftsView.as_view(), name="api-drafts"),
    path(WEBHOOKS, webhooks.WebhooksView.as_view(), name="api-webhooks"),
    path(WEBHOOKS + "deliveries/", webhooks.DeliveriesView.as_view(), name="api-webhook-deliveries"),
    path(WEBHOOKS + "<slug:token>/remove/", webhooks.RemoveWebhookView.as_view(), name="api-remove-webhook"),
    path(TRACE, views.TraceView.as_view(), name="api-trace"),
    path(TRACE + "label/", views.LabelView.as_view(), name="api-label"),
    path(TRACE + "draft/", views.DraftView.as_view(), name="api-draft"),
    path(TRACE + "key-report/", views.KeyReportView.as_view(), name="api-key-report"),
    path(TRACE + "skip/", views.SkipView.as_view(), name="api-skip"),
]
