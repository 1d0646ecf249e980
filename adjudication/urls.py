"""Addresses of disputes and standards."""

from django.urls import path

from adjudication.views import debates, disputes, roles, rules, standards

urlpatterns = [
    path("studies/<slug:slug>/disputes/", disputes.disputes, name="disputes"),
    path("studies/<slug:slug>/disputes/recompute/", disputes.recompute, name="recompute_disputes"),
    path("studies/<slug:slug>/disputes/<slug:token>/", disputes.dispute, name="dispute"),
    path("studies/<slug:slug>/disputes/<slug:token>/decide/", disputes.decide_dispute, name="decide"),
    path("studies/<slug:slug>/disputes/<slug:token>/undo/", disputes.undo, name="undo_decision"),
    path("studies/<slug:slug>/disputes/<slug:token>/gap/", disputes.state_dispute_gap, name="state_gap"),
    path(
        "studies/<slug:slug>/disputes/<slug:token>/arguments/",
        disputes.open_dispute_arguments,
        name="open_arguments",
    ),
    path("studies/<slug:slug>/disputes/<slug:token>/sources/", disputes.reveal, name="reveal_sources"),
    path("studies/<slug:slug>/disputes/<slug:token>/debate/", debates.debate, name="debate"),
    path("studies/<slug:slug>/debates/", debates.debates, name="debates"),
    path("studies/<slug:slug>/adjudication/", rules.rules, name="adjudication_rules"),
    path("studies/<slug:slug>/adjudication/gap/", rules.state_study_gap, name="state_study_gap"),
    path("studies/<slug:slug>/standards/", standards.standards, name="standards"),
    path("studies/<slug:slug>/standards/freeze/", standards.freeze, name="freeze"),
    path("studies/<slug:slug>/standards/<int:version>/", standards.standard, name="standard"),
    path(
        "studies/<slug:slug>/standards/<int:version>/diff/<int:other>/",
        standards.difference,
        name="standard_difference",
    ),
    path("studies/<slug:slug>/standards/<int:version>/roles/", roles.roles, name="critical_roles"),
    path("studies/<slug:slug>/standards/<int:version>/roles/<slug:token>/", roles.role, name="critical_role"),
    path(
        "studies/<slug:slug>/standards/<int:version>/roles/<slug:token>/code/", roles.code, name="code_role"
    ),
    path(
        "studies/<slug:slug>/standards/<int:version>/roles/<slug:token>/take-back/",
        roles.take_back,
        name="take_back_role",
    ),
]
