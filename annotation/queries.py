"""Reads of studies, queues and labels; nothing here writes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import (
    Count,
    Exists,
    F,
    IntegerField,
    Min,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
)
from django.db.models.functions import Coalesce
from django.utils import timezone

from annotation.models import (
    Draft,
    GuidelineVersion,
    KeyReport,
    Label,
    Membership,
    Question,
    ReferenceAnswer,
    Reservation,
    Skip,
    Study,
    Trace,
)
from core.models import User


def studies_of(person: User) -> list[tuple[Study, frozenset[str]]]:
    """Return the person's studies with their roles in each, newest study first; one query."""
    roles: dict[int, set[str]] = {}
    studies: dict[int, Study] = {}
    rows = Membership.objects.filter(person=person).select_related("study")
    for row in rows.order_by("-study__created_at", "pk"):
        studies[row.study_id] = row.study
        roles.setdefault(row.study_id, set()).add(row.role)
    return [(study, frozenset(roles[key])) for key, study in studies.items()]


def labeller_name(person: User) -> str:
    """Return the name under which a person's labels stand in the human arm."""
    return person.username[:100]


def current_label(trace: Trace, person: User) -> Label | None:
    """Return the person's own label on a trace as it stands, None before the first."""
    return (
        Label.objects.filter(trace=trace, arm=Label.Arm.HUMAN, labeller=labeller_name(person))
        .order_by("-revision")
        .first()
    )


def reference_answer(question: Question) -> ReferenceAnswer | None:
    """Return the newest version of a question's reference answer."""
    return question.reference_answers.order_by("version").last()


def guideline_of(study: Study) -> GuidelineVersion | None:
    """Return the newest guideline of a study, None before the first is published."""
    return study.guideline_versions.order_by("version").last()


def draft_of(trace: Trace, person: User, *, based_on: int) -> Draft | None:
    """Return the person's draft, if it began from the label that stands."""
    draft = Draft.objects.filter(trace=trace, person=person).first()
    return draft if draft is not None and draft.content.get("based_on") == based_on else None


def key_report_of(trace: Trace, person: User, *, version: int) -> KeyReport | None:
    """Return the person's report on this version of the key."""
    return KeyReport.objects.filter(
        question_id=trace.question_id, reporter=person, reference_version=version
    ).first()


def readable_traces(study: Study) -> QuerySet[Trace]:
    """Return the traces that people label: with text, of questions that are included."""
    return Trace.objects.filter(
        study=study, question__status=Question.Status.INCLUDED, n_steps__isnull=False
    ).exclude(cut=Trace.Cut.TEXT_FREE)


def _count(rows: QuerySet[Any]) -> Coalesce:
    counted = rows.order_by().values("trace").annotate(number=Count("pk")).values("number")
    return Coalesce(Subquery(counted, output_field=IntegerField()), Value(0))


def _with_tallies(study: Study, person: User) -> QuerySet[Any]:
    """Annotate the traces people label: `label_count` by anybody, `held` by others now, `mine`, `skipped`."""
    first_labels = Label.objects.filter(trace=OuterRef("pk"), arm=Label.Arm.HUMAN, revision=1)
    live = Reservation.objects.filter(trace=OuterRef("pk"), expires_at__gt=timezone.now())
    return readable_traces(study).annotate(
        label_count=_count(first_labels),
        held=_count(live.exclude(person=person)),
        mine=Exists(first_labels.filter(labeller=labeller_name(person))),
        skipped=Exists(Skip.objects.filter(trace=OuterRef("pk"), person=person)),
    )


def open_traces(study: Study, person: User) -> QuerySet[Trace]:
    """Return the traces that may be handed to the person now."""
    return _with_tallies(study, person).filter(
        mine=False, skipped=False, label_count__lt=Value(study.overlap) - F("held")
    )


def open_tokens(study: Study, person: User, *, start: str, limit: int) -> list[str]:
    """Return up to `limit` tokens of open traces, in the order of tokens from `start` and round."""
    traces = open_traces(study, person).order_by("token").values_list("token", flat=True)
    found = list(traces.filter(token__gte=start)[:limit])
    if len(found) < limit:
        found += traces.filter(token__lt=start)[: limit - len(found)]
    return found


def held_by(study: Study, person: User) -> Trace | None:
    """Return the trace that the person holds and has not labelled, the oldest hold first."""
    labelled = Label.objects.filter(
        trace=OuterRef("trace"), arm=Label.Arm.HUMAN, labeller=labeller_name(person)
    )
    reservation = (
        Reservation.objects.filter(person=person, trace__study=study, expires_at__gt=timezone.now())
        .filter(~Exists(labelled), trace__question__status=Question.Status.INCLUDED)
        .select_related("trace")
        .order_by("created_at", "pk")
        .first()
    )
    return reservation.trace if reservation else None


@dataclass(frozen=True)
class Progress:
    """Counts of traces, of one person and of the study, from one query.

    `left`: open to the person now; `held_elsewhere`: would be open if nobody else held them; `free_at`: when the
    first of those holds ends.
    """

    total: int
    complete: int
    labelled: int
    mine: int
    skipped: int
    left: int
    held_elsewhere: int
    free_at: datetime | None

    @property
    def mine_total(self) -> int:
        """What the person has done and could do now."""
        return self.mine + self.left


def progress(study: Study, person: User) -> Progress:
    """Return the person's and the study's progress; one query."""
    free = Q(mine=False, skipped=False, label_count__lt=Value(study.overlap))
    first_end = (
        Reservation.objects.filter(trace=OuterRef("pk"), expires_at__gt=timezone.now())
        .exclude(person=person)
        .order_by("expires_at")
        .values("expires_at")[:1]
    )
    full = Q(label_count__gte=Value(study.overlap) - F("held"))
    row = (
        _with_tallies(study, person)
        .annotate(first_end=Subquery(first_end))
        .aggregate(
            total=Count("pk"),
            complete=Count("pk", filter=Q(label_count__gte=study.overlap)),
            labelled=Count("pk", filter=Q(label_count__gt=0)),
            mine_=Count("pk", filter=Q(mine=True)),
            skipped_=Count("pk", filter=Q(skipped=True, mine=False)),
            left=Count("pk", filter=free & ~full),
            held_elsewhere=Count("pk", filter=free & full),
            free_at=Min("first_end", filter=free & full),
        )
    )
    return Progress(
        total=row["total"],
        complete=row["complete"],
        labelled=row["labelled"],
        mine=row["mine_"],
        skipped=row["skipped_"],
        left=row["left"],
        held_elsewhere=row["held_elsewhere"],
        free_at=row["free_at"],
    )


def labels_of(study: Study, person: User) -> QuerySet[Label]:
    """Return the person's own labels as they stand, newest first, with their traces and questions."""
    return (
        Label.objects.filter(
            trace__study=study,
            arm=Label.Arm.HUMAN,
            labeller=labeller_name(person),
            superseded_by__isnull=True,
        )
        .select_related("trace__question")
        .defer("trace__steps", "trace__preamble")
        .order_by("-created_at", "-pk")
    )


def drafts_of(study: Study, person: User) -> QuerySet[Draft]:
    """Return the person's drafts in a study, newest first."""
    return (
        Draft.objects.filter(trace__study=study, person=person)
        .select_related("trace__question")
        .defer("trace__steps", "trace__preamble")
        .order_by("-saved_at")
    )


def tokens_by_question(question_ids: set[int]) -> dict[int, list[str]]:
    """Return the tokens of all traces of these questions; one query."""
    found: dict[int, list[str]] = {}
    rows = Trace.objects.filter(question_id__in=question_ids).values_list("question_id", "token")
    for question_id, token in rows:
        found.setdefault(question_id, []).append(token)
    return found


def questions_of(study: Study) -> QuerySet[Any]:
    """Return the study's questions with `trace_count`, `report_count` and the newest `answer`."""
    newest = ReferenceAnswer.objects.filter(question=OuterRef("pk")).order_by("-version")
    return (
        Question.objects.filter(study=study)
        .annotate(
            trace_count=Count("traces", distinct=True),
            report_count=Count("key_reports", distinct=True),
            answer=Subquery(newest.values("text")[:1]),
            answer_version=Subquery(newest.values("version")[:1]),
        )
        .order_by("pk")
    )


def key_reports(study: Study) -> QuerySet[KeyReport]:
    """Return all reports on keys; who may read which is said by `annotation.arm`."""
    return KeyReport.objects.filter(question__study=study).select_related("question", "reporter")


def size(study: Study) -> dict[str, int]:
    """Return the numbers of questions (included, excluded); one query."""
    included = Q(status=Question.Status.INCLUDED)
    return Question.objects.filter(study=study).aggregate(
        included=Count("pk", filter=included), excluded=Count("pk", filter=~included)
    )


def trace_size(study: Study) -> dict[str, int]:
    """Return the numbers of traces: of included questions, and those with a text to read; one query."""
    included = Q(question__status=Question.Status.INCLUDED)
    return Trace.objects.filter(study=study).aggregate(
        included=Count("pk", filter=included),
        readable=Count("pk", filter=included & Q(n_steps__isnull=False) & ~Q(cut=Trace.Cut.TEXT_FREE)),
    )


def arm_size(study: Study, arm: str) -> int:
    """Return the number of traces of included questions with a label of an arm; one query."""
    return (
        Label.objects.filter(
            trace__study=study, arm=arm, revision=1, trace__question__status=Question.Status.INCLUDED
        )
        .values("trace")
        .distinct()
        .count()
    )


def unanswered_key_reports(study: Study) -> int:
    """Return the number of questions whose newest key is reported as wrong; one query."""
    newer = ReferenceAnswer.objects.filter(
        question=OuterRef("question"), version__gt=OuterRef("reference_version")
    )
    return (
        KeyReport.objects.filter(~Exists(newer), question__study=study).values("question").distinct().count()
    )
