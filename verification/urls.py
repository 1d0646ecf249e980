"""Addresses of verification."""

from django.urls import path

from verification.views import audits, experts, grading, traces

urlpatterns = [
    path("studies/<slug:slug>/verification/", traces.traces, name="verification"),
    path("studies/<slug:slug>/verification/grading/", grading.grading, name="grading"),
    path("studies/<slug:slug>/verification/traces/<slug:token>/", traces.trace, name="verify_trace"),
    path("studies/<slug:slug>/verification/traces/<slug:token>/check/", traces.check, name="check_trace"),
    path("studies/<slug:slug>/verification/traces/<slug:token>/send/", traces.send, name="send_to_experts"),
    path("studies/<slug:slug>/verification/traces/<slug:token>/map/", traces.map_steps, name="map_steps"),
    path("studies/<slug:slug>/verification/experts/", experts.experts, name="experts"),
    path(
        "studies/<slug:slug>/verification/experts/take/<slug:token>/", experts.take_trace, name="take_needed"
    ),
    path("studies/<slug:slug>/verification/experts/<slug:token>/", experts.item, name="expert_item"),
    path("studies/<slug:slug>/verification/experts/<slug:token>/take/", experts.take, name="take_item"),
    path(
        "studies/<slug:slug>/verification/experts/<slug:token>/back/", experts.give_back, name="put_back_item"
    ),
    path("studies/<slug:slug>/verification/experts/<slug:token>/rule/", experts.rule, name="rule_on_item"),
    path("studies/<slug:slug>/verification/keys/", audits.audits, name="key_audits"),
    path("studies/<slug:slug>/verification/keys/new/", audits.new_audit, name="new_key_audit"),
    path("studies/<slug:slug>/verification/keys/<int:number>/", audits.audit, name="key_audit"),
    path(
        "studies/<slug:slug>/verification/keys/<int:number>/decide/", audits.decide, name="decide_key_audit"
    ),
    path(
        "studies/<slug:slug>/verification/keys/<int:number>/report/",
        audits.report_key,
        name="report_audited_key",
    ),
]
