"""Views of monitors, batches and reports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from django.http import Http404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import study_for
from annotation.models import Role, Study
from core.api.views import ApiView
from core.errors import UserError
from core.models import Scope
from monitoring import queries
from monitoring.access import batch_for, study_of_administrator
from monitoring.api import serializers as shapes
from monitoring.engine import control, planning
from monitoring.engine.launch import launch_batch, refuse_if_unfit
from monitoring.engine.options import BatchOptions
from monitoring.models import Batch
from monitoring.report import queries as reports
from monitoring.report.access import document_for
from stats.report import Options


class MonitorsView(ApiView):
    """The monitors."""

    @extend_schema(operation_id="monitors", responses=shapes.MonitorSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List the study's monitors."""
        study = study_of_administrator(self.person, slug)
        return self.listed(queries.monitors_of(study), shapes.MonitorSerializer)


class PlanView(ApiView):
    """A plan."""

    heavy_methods = frozenset({"GET"})

    @extend_schema(operation_id="plan", parameters=[shapes.PlanQuery], responses=shapes.PlanSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Plan a batch: eligible traces, exclusions with reasons, calls and cost. Nothing is written."""
        study = study_of_administrator(self.person, slug)
        plan = planning.plan_batch(study=study, **_chosen(study, **self.query(shapes.PlanQuery)))
        try:
            refuse_if_unfit(plan, max_cost=None)
            obstacle = None
        except UserError as error:
            obstacle = str(error)
        return Response(shapes.PlanSerializer(queries.plan_content(plan) | {"obstacle": obstacle}).data)


class BatchesView(ApiView):
    """The batches."""

    write_scope = Scope.OPERATE
    heavy_methods = frozenset({"POST"})

    @extend_schema(operation_id="batches", responses=shapes.BatchRowSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List the batches, the newest first."""
        study = study_of_administrator(self.person, slug)
        return self.listed(queries.batches_of(study), shapes.BatchRowSerializer)

    @extend_schema(
        operation_id="launch_batch", request=shapes.LaunchInput, responses={201: shapes.BatchSerializer}
    )
    def post(self, request: Request, slug: str) -> Response:
        """Launch a batch; each call makes another one."""
        study = study_of_administrator(self.person, slug)
        asked = self.body(shapes.LaunchInput)
        max_cost = asked.pop("max_cost")
        chosen = _chosen(study, **asked)
        if queries.costs_money(chosen["monitors"]):
            self.confirmed_to_spend()
        batch = launch_batch(study=study, max_cost=max_cost, actor=self.person, **chosen)
        return _standing(batch, status=201)


class BatchView(ApiView):
    """One batch."""

    @extend_schema(operation_id="batch", responses=shapes.BatchSerializer)
    def get(self, request: Request, slug: str, number: int) -> Response:
        """Show how a batch stands."""
        return _standing(batch_for(self.person, slug, number))


class PauseView(ApiView):
    """Pausing."""

    write_scope = Scope.OPERATE

    @extend_schema(operation_id="pause_batch", request=None, responses=shapes.BatchSerializer)
    def post(self, request: Request, slug: str, number: int) -> Response:
        """Take no more calls; those in flight end and count. Pausing twice is no change."""
        return self._done(slug, number, control.pause_batch)

    def _done(self, slug: str, number: int, action: Callable[..., Batch]) -> Response:
        batch = batch_for(self.person, slug, number)
        return _standing(action(batch=batch, actor=self.person))


class CancelView(PauseView):
    """Cancelling."""

    @extend_schema(operation_id="cancel_batch", request=None, responses=shapes.BatchSerializer)
    def post(self, request: Request, slug: str, number: int) -> Response:
        """End a batch for good: what is pending is given up."""
        return self._done(slug, number, control.cancel_batch)


class ResumeView(ApiView):
    """Resuming."""

    write_scope = Scope.OPERATE

    @extend_schema(operation_id="resume_batch", request=shapes.ResumeInput, responses=shapes.BatchSerializer)
    def post(self, request: Request, slug: str, number: int) -> Response:
        """Go on with a paused batch, with another budget if one is given."""
        batch = batch_for(self.person, slug, number)
        if queries.batch_costs_money(batch):
            self.confirmed_to_spend()
        return _standing(
            control.resume_batch(batch=batch, actor=self.person, **self.body(shapes.ResumeInput))
        )


class RetryView(ApiView):
    """Trying again."""

    write_scope = Scope.OPERATE

    @extend_schema(operation_id="retry_failed", request=None, responses=shapes.RetriedSerializer)
    def post(self, request: Request, slug: str, number: int) -> Response:
        """Call again where the batch has no verdict but a failure."""
        batch = batch_for(self.person, slug, number)
        if queries.batch_costs_money(batch):
            self.confirmed_to_spend()
        retried = control.retry_failed(batch=batch, actor=self.person)
        batch.refresh_from_db()
        content = {"retried": retried, "batch": queries.progress_of(batch)}
        return Response(shapes.RetriedSerializer(content).data)


class ReportView(ApiView):
    """A report."""

    @extend_schema(
        operation_id="report",
        responses=OpenApiResponse(
            OpenApiTypes.OBJECT, description="The document of `manage.py report --json`, unrounded."
        ),
    )
    def get(self, request: Request, slug: str, version: int) -> Response:
        """Return the stored report on a standard; 404 until one was computed.

        A lead with open disputes gets it without what tells arms or generators apart.
        """
        study = study_for(self.person, slug, Role.LEAD, Role.ADMINISTRATOR)
        try:
            standard = reports.standard_for(study, version)
        except UserError as error:
            raise Http404(str(error)) from error
        stored = reports.standing_of(study, standard, Options()).ready
        if stored is None:
            raise Http404("this report was not computed yet")
        return Response(document_for(self.person, study, stored))


def _chosen(
    study: Study, *, monitors: Sequence[str], conditions: Sequence[str], standard: int | None, **options: Any
) -> dict[str, Any]:
    return {
        "standard": planning.standard_named(study, standard),
        "monitors": planning.monitors_named(study, monitors),
        "conditions": planning.conditions_named(conditions),
        "options": BatchOptions(**options),
    }


def _standing(batch: Batch, *, status: int = 200) -> Response:
    return Response(shapes.BatchSerializer(queries.progress_of(batch)).data, status=status)
