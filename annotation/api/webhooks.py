"""Webhooks over the API, for administrators."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import study_for
from annotation.models import Role
from core import webhooks as service
from core.api.fields import Input, StrictText
from core.api.views import ApiView
from core.models import Delivery, Scope, Webhook


class WebhookSerializer(serializers.Serializer):
    """An address that is told of events."""

    token = serializers.CharField()
    url = serializers.CharField()
    events = serializers.ListField(
        child=serializers.ChoiceField(choices=Webhook.Event.choices), source="event_words"
    )
    created_at = serializers.DateTimeField()


class NewWebhookSerializer(WebhookSerializer):
    """A new webhook with the secret that signs its messages."""

    secret = serializers.CharField(help_text="shown only now")


class DeliverySerializer(serializers.Serializer):
    """A message, without what it holds."""

    token = serializers.CharField()
    webhook = serializers.CharField(source="webhook.token")
    event = serializers.ChoiceField(choices=Webhook.Event.choices)
    status = serializers.ChoiceField(choices=Delivery.Status.choices)
    attempts = serializers.IntegerField()
    answered = serializers.IntegerField(allow_null=True, help_text="the last HTTP status")
    problem = serializers.CharField(allow_blank=True)
    created_at = serializers.DateTimeField()
    next_at = serializers.DateTimeField(allow_null=True)
    delivered_at = serializers.DateTimeField(allow_null=True)


class WebhookInput(Input):
    """Where to, and what of."""

    url = StrictText(max_length=service.LONGEST_URL)
    events = serializers.ListField(child=serializers.ChoiceField(choices=Webhook.Event.choices), min_length=1)


class WebhooksView(ApiView):
    """The webhooks."""

    write_scope = Scope.OPERATE

    @extend_schema(operation_id="webhooks", responses=WebhookSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List the addresses that are told of events, the newest first."""
        study = study_for(self.person, slug, Role.ADMINISTRATOR)
        return self.listed(service.webhooks_of(study.slug), WebhookSerializer)

    @extend_schema(operation_id="add_webhook", request=WebhookInput, responses={201: NewWebhookSerializer})
    def post(self, request: Request, slug: str) -> Response:
        """Register an address; the secret that signs its messages is in this answer and in no other."""
        study = study_for(self.person, slug, Role.ADMINISTRATOR)
        webhook = service.add_webhook(scope=study.slug, actor=self.person, **self.body(WebhookInput))
        content: dict[str, Any] = WebhookSerializer(webhook).data | {"secret": service.secret_of(webhook)}
        return Response(content, status=201)


class RemoveWebhookView(ApiView):
    """Removing."""

    write_scope = Scope.OPERATE

    @extend_schema(operation_id="remove_webhook", request=None, responses=WebhookSerializer)
    def post(self, request: Request, slug: str, token: str) -> Response:
        """Send nothing more to an address; what waits is given up."""
        study = study_for(self.person, slug, Role.ADMINISTRATOR)
        webhook = get_object_or_404(service.webhooks_of(study.slug), token=token)
        service.remove_webhook(webhook=webhook, actor=self.person)
        return Response(WebhookSerializer(webhook).data)


class DeliveriesView(ApiView):
    """The messages."""

    @extend_schema(operation_id="webhook_deliveries", responses=DeliverySerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List the messages of the last 90 days and how they fared, the newest first."""
        study = study_for(self.person, slug, Role.ADMINISTRATOR)
        return self.listed(service.deliveries_of(study.slug), DeliverySerializer)
