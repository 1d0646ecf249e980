"""Views of disputes and standards."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from adjudication import access, queries
from adjudication.api import serializers as shapes
from adjudication.masking import fingerprint
from adjudication.models import Decision, Dispute, ReferenceStandard
from adjudication.pages import changes_between
from adjudication.services.assembly import freeze_preconditions
from adjudication.services.decisions import Consulted, KeyCorrection, decide, undo_decision
from adjudication.services.disputes import recompute_disputes
from adjudication.services.standards import FreezeRefused, freeze_standard
from annotation import masking
from annotation.queries import tokens_by_question
from core.api.views import ApiView
from core.errors import Conflict
from core.models import Scope, User


class DisputesView(ApiView):
    """The disputes."""

    @extend_schema(
        operation_id="disputes",
        parameters=[shapes.DisputesQuery],
        responses=shapes.DisputeRowSerializer(many=True),
    )
    def get(self, request: Request, slug: str) -> Response:
        """List disputes by state and kind, in an order that tells nothing."""
        study = access.study_of_lead(self.person, slug)
        asked = self.query(shapes.DisputesQuery)
        rows = queries.disputes_in(study, state=asked["state"], kind=asked["kind"]).select_related(
            "trace__question"
        )
        return self.listed(rows, shapes.DisputeRowSerializer, shown=_rows)


class RecomputeView(ApiView):
    """Finding disputes."""

    write_scope = Scope.ADJUDICATE
    heavy_methods = frozenset({"POST"})

    @extend_schema(operation_id="recompute_disputes", request=None, responses=shapes.RecomputedSerializer)
    def post(self, request: Request, slug: str) -> Response:
        """Bring the disputes up to date with the labels; safe to repeat."""
        study = access.study_of_lead(self.person, slug)
        found = recompute_disputes(study=study, actor=self.person)
        return Response(shapes.RecomputedSerializer(found).data)


class DisputeView(ApiView):
    """One dispute."""

    @extend_schema(operation_id="dispute", responses=shapes.DisputeSerializer)
    def get(self, request: Request, slug: str, token: str) -> Response:
        """Return a dispute with its proposals in masked order."""
        found = access.dispute_for(self.person, slug, token)
        return Response(shapes.DisputeSerializer(_dispute(found, self.person)).data)


class DecideView(ApiView):
    """A ruling."""

    write_scope = Scope.ADJUDICATE

    @extend_schema(
        operation_id="decide", request=shapes.RulingInput, responses={201: shapes.DisputeSerializer}
    )
    def post(self, request: Request, slug: str, token: str) -> Response:
        """Record a ruling; 409 when another came first or the labels changed since they were read."""
        found = access.dispute_for(self.person, slug, token)
        asked = self.body(shapes.RulingInput)
        correction = asked.pop("key_correction")
        asked["consulted"] = [Consulted(**entry) for entry in asked["consulted"]]
        decide(
            dispute=found,
            lead=self.person,
            key_correction=KeyCorrection(**correction) if correction else None,
            **asked,
        )
        return self._standing(slug, token)

    def _standing(self, slug: str, token: str) -> Response:
        fresh = access.dispute_for(self.person, slug, token)
        return Response(shapes.DisputeSerializer(_dispute(fresh, self.person)).data, status=201)


class UndoView(DecideView):
    """A ruling taken back."""

    @extend_schema(
        operation_id="undo_decision", request=shapes.UndoInput, responses={201: shapes.DisputeSerializer}
    )
    def post(self, request: Request, slug: str, token: str) -> Response:
        """Take the ruling back by a row of its own; 409 once a standard rests on it."""
        found = access.dispute_for(self.person, slug, token)
        undo_decision(dispute=found, lead=self.person, **self.body(shapes.UndoInput))
        return self._standing(slug, token)


class StandardsView(ApiView):
    """The versions of the reference standard."""

    write_scope = Scope.ADJUDICATE
    heavy_methods = frozenset({"POST"})

    @extend_schema(operation_id="standards", responses=shapes.StandardSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List the versions, the newest first."""
        study = access.study_of_standards(self.person, slug)
        return self.listed(queries.standards_of(study), shapes.StandardSerializer)

    @extend_schema(
        operation_id="freeze_standard",
        request=shapes.FreezeInput,
        responses={
            200: OpenApiResponse(shapes.FrozenSerializer, description="A version said exactly this already."),
            201: shapes.FrozenSerializer,
        },
    )
    def post(self, request: Request, slug: str) -> Response:
        """Freeze the next version; 409 with what stands in the way."""
        study = access.study_of_lead(self.person, slug)
        asked = self.body(shapes.FreezeInput)
        try:
            frozen = freeze_standard(study=study, actor=self.person, **asked)
        except FreezeRefused as error:
            # Its own words give examples by their stored labels, which name the generator.
            told = "; ".join(f"{one.count} {one.name}: {one.text}" for one in error.blockers)
            raise Conflict(f"nothing was frozen: {told}") from error
        return Response(shapes.FrozenSerializer(frozen).data, status=201 if frozen.created else 200)


class ConditionsView(ApiView):
    """What a freeze would find."""

    heavy_methods = frozenset({"GET"})

    @extend_schema(operation_id="freeze_preconditions", responses=shapes.ConditionsSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Return what a freeze would find now, with counts; nothing is written."""
        found = freeze_preconditions(access.study_of_standards(self.person, slug))
        content = {"blocked": any(one.blocks for one in found), "conditions": found}
        return Response(shapes.ConditionsSerializer(content).data)


class StandardView(ApiView):
    """One version."""

    @extend_schema(operation_id="standard", responses=shapes.StandardCardSerializer)
    def get(self, request: Request, slug: str, version: int) -> Response:
        """Return the card of a standard."""
        found = access.standard_for(self.person, slug, version)
        return Response(shapes.StandardSerializer(found).data | {"card": _card(found)})


class DifferenceView(ApiView):
    """Two versions side by side."""

    @extend_schema(operation_id="standard_difference", responses=shapes.ChangeSerializer(many=True))
    def get(self, request: Request, slug: str, version: int, other: int) -> Response:
        """List what version `other` says differently from `version`, under the letters you know."""
        old = access.standard_for(self.person, slug, version)
        new = access.standard_for(self.person, slug, other)
        return self.listed(changes_between(old, new, person=self.person), shapes.ChangeSerializer)


def _rows(page: list[Dispute]) -> Iterable[dict[str, Any]]:
    decided = any(dispute.status == Dispute.Status.DECIDED for dispute in page)
    rulings = queries.rulings_on(page) if decided else {}
    for dispute in page:
        yield {
            "token": dispute.token,
            "status": dispute.status,
            "awaits_labels": dispute.awaits_labels,
            "kinds": dispute.kinds,
            "trace": dispute.trace,
            "ruling": rulings.get(dispute.pk),
        }


def _dispute(dispute: Dispute, person: User) -> dict[str, Any]:
    trace, question = dispute.trace, dispute.trace.question
    latest = queries.latest_decision(dispute)
    decision = None if latest is None or latest.choice == Decision.Choice.UNDO else latest
    shown = queries.proposals_in(dispute) if queries.shows_proposals(dispute) else []
    frozen = queries.frozen_in(decision) if decision else None
    following = queries.next_open(dispute.study, after=dispute.token)
    tokens = tokens_by_question({question.pk})[question.pk]
    return {
        "token": dispute.token,
        "state": dispute.status,
        "awaits_labels": dispute.awaits_labels,
        "kinds": dispute.kinds,
        "letter": masking.letters(dispute.study, person, question.pk, tokens)[trace.token],
        "question_id": question.external_id,
        "subject": question.subject,
        "question": question.statement,
        "rationale": question.rationale,
        "reference_answer": queries.reference_answer_of(question),
        "preamble": trace.preamble,
        "n_steps": trace.n_steps,
        "steps": [{"number": number, "text": text} for number, text in trace.numbered_steps()],
        "proposals": shown,
        "seen": fingerprint(shown),
        "revision": latest.revision if latest else 0,
        "decision": decision,
        "frozen_in": frozen.version if frozen else None,
        "next": following.token if following else None,
    }


def _card(standard: ReferenceStandard) -> Any:
    card = queries.card_of(standard)
    not_ready = [
        {"status": status, "reason": reason, "traces": number} for status, reason, number in card.not_ready
    ]
    return shapes.CardSerializer({**vars(card), "not_ready": not_ready}).data
