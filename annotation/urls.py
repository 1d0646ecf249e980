"""Addresses of the home page, of a study and of the annotators' desk."""

from django.urls import path

from annotation.views import (
    annotate,
    arm,
    exports,
    guideline,
    home,
    overview,
    people,
    pilot,
    queue,
    sharing,
    training,
    webhooks,
)

urlpatterns = [
    path("", home.home, name="home"),
    path("studies/<slug:slug>/", home.study, name="study"),
    path("studies/<slug:slug>/questions/", overview.questions, name="questions"),
    path("studies/<slug:slug>/arm/", arm.arm, name="arm"),
    path("studies/<slug:slug>/labels/", exports.exports, name="exports"),
    path("studies/<slug:slug>/labels/download/", exports.download_labels, name="download_labels"),
    path("invitations/<str:key>/", people.invitation, name="invitation"),
    path("studies/<slug:slug>/people/", people.people, name="people"),
    path("studies/<slug:slug>/people/invite/", people.invite, name="invite"),
    path("studies/<slug:slug>/people/<int:number>/revoke/", people.revoke, name="invitation_revoke"),
    path("studies/<slug:slug>/pilot/", pilot.pilot_page, name="pilot"),
    path("studies/<slug:slug>/training/", training.training_page, name="training"),
    path("studies/<slug:slug>/training/items/", training.add_items, name="check_items_add"),
    path("studies/<slug:slug>/training/marks/", training.change_marks, name="change_marks"),
    path("studies/<slug:slug>/training/gate/", training.gate, name="gate"),
    path("studies/<slug:slug>/training/gate/<slug:token>/", training.gate_item, name="gate_item"),
    path("studies/<slug:slug>/guideline/", guideline.guideline, name="guideline"),
    path("studies/<slug:slug>/guideline/edit/", guideline.edit_guideline, name="guideline_edit"),
    path("studies/<slug:slug>/guideline/<int:version>/", guideline.guideline, name="guideline_version"),
    path("studies/<slug:slug>/queue/", queue.queue, name="queue"),
    path("studies/<slug:slug>/queue/next/", queue.queue_next, name="queue_next"),
    path("studies/<slug:slug>/queue/rules/", sharing.queue_rules, name="queue_rules"),
    path("studies/<slug:slug>/queue/rules/change/", sharing.change_rules, name="change_rules"),
    path("studies/<slug:slug>/queue/rules/priority/", sharing.set_priority, name="set_priority"),
    path("studies/<slug:slug>/queue/people/<str:username>/pause/", sharing.pause, name="pause_person"),
    path("studies/<slug:slug>/queue/people/<str:username>/resume/", sharing.resume, name="resume_person"),
    path(
        "studies/<slug:slug>/queue/people/<str:username>/<slug:token>/", sharing.move_hold, name="move_hold"
    ),
    path("studies/<slug:slug>/webhooks/", webhooks.webhooks, name="webhooks"),
    path("studies/<slug:slug>/webhooks/add/", webhooks.webhook_add, name="webhook_add"),
    path("studies/<slug:slug>/webhooks/<slug:token>/remove/", webhooks.webhook_remove, name="webhook_remove"),
    path("studies/<slug:slug>/traces/<slug:token>/", annotate.annotate, name="annotate"),
    path("studies/<slug:slug>/traces/<slug:token>/draft/", annotate.draft, name="draft"),
    path("studies/<slug:slug>/traces/<slug:token>/hold/", annotate.hold, name="hold"),
    path("studies/<slug:slug>/traces/<slug:token>/key/", annotate.key_report, name="report_key"),
    path("studies/<slug:slug>/traces/<slug:token>/skip/", annotate.skip, name="skip"),
]
