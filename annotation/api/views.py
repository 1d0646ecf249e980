"""Views of studies and of the annotators' desk."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import arm, blindness, pages, queries, stages
from annotation.access import roles_in, study_for, trace_for
from annotation.api import serializers as shapes
from annotation.models import Draft, Role, Study, Trace
from annotation.pilot import PilotValues
from annotation.services.drafts import DraftContent, save_draft
from annotation.services.guideline import first_guideline
from annotation.services.keys import report_key
from annotation.services.labels import submit_label
from annotation.services.queue import claim_next, skip_trace
from core.api.views import ApiView
from core.mathtext import render
from core.models import Scope, User

OVERSEERS = (Role.LEAD, Role.ADMINISTRATOR)


class StudiesView(ApiView):
    """The person's studies."""

    @extend_schema(operation_id="studies", responses=shapes.StudySerializer(many=True))
    def get(self, request: Request) -> Response:
        """List the studies that the person belongs to, the newest first."""
        rows = queries.studies_of(self.person)
        return self.listed(
            rows, shapes.StudySerializer, shown=lambda page: [_study(study, roles) for study, roles in page]
        )


class StudyView(ApiView):
    """One study."""

    @extend_schema(operation_id="study", responses=shapes.StudyDetailSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Show a study with the counts that the person's roles allow."""
        study = study_for(self.person, slug)
        roles = frozenset(roles_in(study, self.person))
        content = _study(study, roles) | {
            "overlap": study.overlap,
            "show_reference_answer": study.show_reference_answer,
            "progress": queries.progress(study, self.person) if Role.ANNOTATOR in roles else None,
            "stages": _stages(study, self.person, roles) if roles & set(OVERSEERS) else None,
        }
        return Response(shapes.StudyDetailSerializer(content).data)


class GuidelineView(ApiView):
    """The guideline."""

    @extend_schema(operation_id="guideline", responses=shapes.GuidelineSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Return the guideline in force."""
        newest = queries.guideline_of(study_for(self.person, slug))
        content = {
            "version": newest.version if newest else 1,
            "text": newest.text if newest else first_guideline(),
            "published_at": newest.created_at if newest else None,
        }
        return Response(shapes.GuidelineSerializer(content).data)


class QuestionsView(ApiView):
    """The questions."""

    @extend_schema(operation_id="questions", responses=shapes.QuestionSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List the questions with their keys, numbers of solutions and of key reports."""
        study = study_for(self.person, slug, *OVERSEERS)

        def shown(page: list[Any]) -> list[Any]:
            hidden = set(
                blindness.hidden_questions(study, self.person)
                .filter(pk__in=[question.pk for question in page])
                .values_list("pk", flat=True)
            )
            for question in page:
                if question.pk in hidden:
                    question.report_count = None
            return page

        return self.listed(queries.questions_of(study), shapes.QuestionSerializer, shown=shown)


class ReportedKeysView(ApiView):
    """The reports on keys."""

    @extend_schema(operation_id="key_reports", responses=shapes.ReportedKeySerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List the reports that a reference answer looks wrong, the newest first.

        A report tells how a person judged: a lead gets it once every trace of the question is settled.
        """
        study = study_for(self.person, slug, *OVERSEERS)
        return self.listed(arm.key_reports(study, self.person), shapes.ReportedKeySerializer)


class NextView(ApiView):
    """The next trace."""

    write_scope = Scope.LABEL

    @extend_schema(operation_id="next_trace", request=None, responses=shapes.ClaimSerializer)
    def post(self, request: Request, slug: str) -> Response:
        """Claim the next trace and hold it; the one held already comes first, so that a repeat is harmless."""
        study = study_for(self.person, slug, Role.ANNOTATOR)
        trace = claim_next(study=study, person=self.person)
        if trace is None:
            content: dict[str, Any] = {"trace": None, "progress": queries.progress(study, self.person)}
        else:
            # Read anew with its question, through the same gate.
            page = _page(trace_for(self.person, slug, trace.token, Role.ANNOTATOR), self.person)
            content = {"trace": _shown(page), "progress": page.progress}
        return Response(shapes.ClaimSerializer(content).data)


class OwnLabelsView(ApiView):
    """The person's own labels."""

    @extend_schema(operation_id="own_labels", responses=shapes.OwnLabelSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List the labels of the person as they stand, the newest first."""
        study = study_for(self.person, slug, Role.ANNOTATOR)
        rows = queries.labels_of(study, self.person).select_related("trace__question", "guideline")
        return self.listed(
            rows,
            shapes.OwnLabelSerializer,
            shown=lambda page: pages.queue_rows(study, self.person, page, []),
        )


class OwnDraftsView(ApiView):
    """The person's own drafts."""

    @extend_schema(operation_id="own_drafts", responses=shapes.OwnTraceSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """List the traces of which the person has a draft, the newest first."""
        study = study_for(self.person, slug, Role.ANNOTATOR)
        return self.listed(
            queries.drafts_of(study, self.person).order_by("-saved_at", "-pk"),
            shapes.OwnTraceSerializer,
            shown=lambda page: pages.queue_rows(study, self.person, [], page),
        )


class TraceView(ApiView):
    """One trace, to be labelled."""

    @extend_schema(operation_id="trace", parameters=[shapes.TraceQuery], responses=shapes.TraceSerializer)
    def get(self, request: Request, slug: str, token: str) -> Response:
        """Return a trace with the person's own label, draft and key report; reading does not claim it."""
        trace = trace_for(self.person, slug, token, Role.ANNOTATOR)
        rendered = self.query(shapes.TraceQuery)["rendered"]
        return Response(shapes.TraceSerializer(_shown(_page(trace, self.person), rendered=rendered)).data)


class LabelView(ApiView):
    """The person's label on a trace."""

    write_scope = Scope.LABEL

    @extend_schema(operation_id="submit_label", request=shapes.LabelInput, responses=shapes.LabelSerializer)
    def put(self, request: Request, slug: str, token: str) -> Response:
        """Submit both judgements. The same again is no change; others on another revision are refused (409)."""
        trace = trace_for(self.person, slug, token, Role.ANNOTATOR)
        entered = self.body(shapes.LabelInput)
        pilot = PilotValues(entered.pop("coherence"), entered.pop("error_type"))
        label = submit_label(trace=trace, person=self.person, pilot=pilot, **entered)
        return Response(shapes.LabelSerializer(label).data)


class DraftView(ApiView):
    """The person's draft on a trace."""

    write_scope = Scope.LABEL

    @extend_schema(operation_id="draft", responses=shapes.DraftSerializer)
    def get(self, request: Request, slug: str, token: str) -> Response:
        """Return the draft; 404 while there is none, and after the label was submitted."""
        trace = trace_for(self.person, slug, token, Role.ANNOTATOR)
        label = queries.current_label(trace, self.person)
        draft = queries.draft_of(trace, self.person, based_on=label.revision if label else 0)
        if draft is None:
            raise NotFound("there is no draft")
        return Response(shapes.DraftSerializer(_draft(draft)).data)

    @extend_schema(operation_id="save_draft", request=shapes.DraftInput, responses=shapes.DraftSerializer)
    def put(self, request: Request, slug: str, token: str) -> Response:
        """Keep what is entered so far and renew the hold; a late draft never overwrites anything (409)."""
        trace = trace_for(self.person, slug, token, Role.ANNOTATOR)
        entered = self.body(shapes.DraftInput)
        expected = entered.pop("expected_version")
        draft = save_draft(
            trace=trace, person=self.person, content=DraftContent(**entered), expected_version=expected
        )
        return Response(shapes.DraftSerializer(_draft(draft)).data)


class KeyReportView(ApiView):
    """A report on the reference answer."""

    write_scope = Scope.LABEL

    @extend_schema(
        operation_id="report_key", request=shapes.KeyReportInput, responses=shapes.KeyReportSerializer
    )
    def post(self, request: Request, slug: str, token: str) -> Response:
        """Report that the reference answer looks wrong; the same words again are no change."""
        trace = trace_for(self.person, slug, token, Role.ANNOTATOR)
        report = report_key(trace=trace, person=self.person, **self.body(shapes.KeyReportInput))
        return Response(shapes.KeyReportSerializer(report).data)


class SkipView(ApiView):
    """A trace given back."""

    write_scope = Scope.LABEL

    @extend_schema(operation_id="skip_trace", request=shapes.SkipInput, responses=shapes.SkipSerializer)
    def post(self, request: Request, slug: str, token: str) -> Response:
        """Give the trace back for good; skipping it again is no change."""
        trace = trace_for(self.person, slug, token, Role.ANNOTATOR)
        skip = skip_trace(trace=trace, person=self.person, **self.body(shapes.SkipInput))
        return Response(shapes.SkipSerializer(skip).data)


def _study(study: Study, roles: frozenset[str]) -> dict[str, Any]:
    return {"slug": study.slug, "name": study.name, "kind": study.kind, "roles": sorted(roles)}


def _stages(study: Study, person: User, roles: frozenset[str]) -> list[dict[str, Any]]:
    return [
        {"key": line.stage.key, "title": line.stage.title, **vars(line.count)}
        for line in stages.line(study, person, roles)
        if line.count is not None
    ]


def _page(trace: Trace, person: User) -> pages.AnnotatePage:
    return pages.annotate_page(trace, person, guideline_fallback=first_guideline())


def _shown(page: pages.AnnotatePage, *, rendered: bool = False) -> dict[str, Any]:
    trace = page.trace
    steps: list[dict[str, Any]] = [{"number": step.number, "text": step.raw} for step in page.steps]
    content = {
        "token": trace.token,
        "letter": page.letter,
        "subject": trace.question.subject,
        "question": trace.question.statement,
        "reference_answer": page.answer,
        "preamble": trace.preamble,
        "n_steps": trace.n_steps,
        "steps": steps,
        "guideline_version": page.guideline_version,
        "revision": page.revision,
        "label": page.label,
        "draft": _draft(page.draft) if page.draft else None,
        "key_report": page.key_report,
    }
    if rendered:
        content["question_html"] = render(trace.question.statement)
        for step, shown in zip(steps, page.steps, strict=True):
            step["html"] = render(shown.text)
    return content


def _draft(draft: Draft) -> dict[str, Any]:
    entered = vars(DraftContent()) | draft.content
    return {"version": draft.version, "saved_at": draft.saved_at, **entered}
