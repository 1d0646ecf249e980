"""Addresses of the API of disputes and standards."""

from django.urls import path

from adjudication.api import views

DISPUTES = "studies/<slug:slug>/disputes/"
STANDARDS = "studies/<slug:slug>/standards/"

urlpatterns = [
    path(DISPUTES, views.DisputesView.as_view(), name="api-disputes"),
    path(DISPUTES + "recompute/", views.RecomputeView.as_view(), name="api-recompute-disputes"),
    path(DISPUTES + "<slug:token>/", views.DisputeView.as_view(), name="api-dispute"),
    path(DISPUTES + "<slug:token>/decide/", views.DecideView.as_view(), name="api-decide"),
    path(DISPUTES + "<slug:token>/undo/", views.UndoView.as_view(), name="api-undo-decision"),
    path(STANDARDS, views.StandardsView.as_view(), name="api-standards"),
    path(STANDARDS + "conditions/", views.ConditionsView.as_view(), name="api-freeze-conditions"),
    path(STANDARDS + "<int:version>/", views.StandardView.as_view(), name="api-standard"),
    path(
        STANDARDS + "<int:version>/diff/<int:other>/",
        views.DifferenceView.as_view(),
        name="api-standard-difference",
    ),
]
