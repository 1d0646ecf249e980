"""Addresses of disputes and standards."""

from django.urls import path

from adjudication.views import disputes, standards

urlpatterns = [
    path("studies/<slug:slug>/disputes/", disputes.disputes, name="disputes"),
    path("studies/<slug:slug>/disputes/recompute/", disputes.recompute, name="recompute_disputes"),
    path("studies/<slug:slug>/disputes/<slug:token>/", disputes.dispute, name="dispute"),
    path("studies/<slug:slug>/disputes/<slug:token>/decide/", disputes.decide_dispute, name="decide"),
    path("studies/<slug:slug>/disputes/<slug:token>/undo/", disputes.undo, name="undo_decision"),
    path("studies/<slug:slug>/standards/", standards.standards, name="standards"),
    path("studies/<slug:slug>/standards/freeze/", standards.freeze, name="freeze"),
    path("studies/<slug:slug>/standards/<int:version>/", standards.standard, name="standard"),
    path(
        "studies/<slug:slug>/standards/<int:version>/diff/<int:other>/",
        standards.difference,
        name="standard_difference",
    ),
]
